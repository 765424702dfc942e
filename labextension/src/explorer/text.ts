/** Text that a provider chose, made safe to look at: what cannot be seen is spelled out. */

// Controls and format characters, lone surrogates, line and paragraph separators, characters that
// fonts may leave out (fillers, variation selectors, tags), and the blank Braille pattern.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

function spelled(character: string): string {
  const hex = character.codePointAt(0)!.toString(16);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
}

/** Returns `text` with each invisible or bidirectional control character as `\u202e`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, spelled);
}
