/** Where the marks of a timeline stand. Pure. */

/** The least distance of two marks, as a part of the whole. */
const GAP = 0.075;

/**
 * Returns a place from 0 to 1 for each of `seconds`, which are in order of time. Marks that would
 * cover each other are moved apart as far as there is room; their order stays.
 */
export function places(seconds: readonly number[], longest: number): number[] {
  const gap = Math.min(GAP, 1 / Math.max(1, seconds.length - 1));
  const placed: number[] = [];
  for (const each of seconds) {
    const place = longest > 0 ? Math.min(1, Math.max(0, each / longest)) : 0;
    placed.push(Math.max(place, (placed.at(-1) ?? -gap) + gap));
  }
  let limit = 1;
  for (let at = placed.length - 1; at >= 0; at--) {
    limit = placed[at] = Math.max(0, Math.min(placed[at]!, limit));
    limit -= gap;
  }
  return placed;
}
