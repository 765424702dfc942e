import { describe, expect, it } from 'vitest';

import { visible } from '../src/explorer/text';

describe('CA-5: invisible and bidirectional control characters are shown escaped', () => {
  it.each([
    ['right-to-left override', 'a\u202eb', 'a\\u202eb'],
    ['isolate', '\u2066x\u2069', '\\u2066x\\u2069'],
    ['Arabic letter mark', '\u061c', '\\u061c'],
    ['zero-width space and joiners', 'a\u200bb\u200cc\u200dd', 'a\\u200bb\\u200cc\\u200dd'],
    ['soft hyphen', 'pass\u00adword', 'pass\\u00adword'],
    ['byte order mark', '\ufeffx', '\\ufeffx'],
    ['ANSI colour', '\u001b[31mred', '\\u001b[31mred'],
    ['newline and tab', 'a\n\tb', 'a\\u000a\\u0009b'],
    ['line separator', 'a\u2028b', 'a\\u2028b'],
    ['Hangul filler', 'a\u3164b', 'a\\u3164b'],
    ['blank Braille pattern', '\u2800', '\\u2800'],
    ['variation selector', 'a\ufe0f', 'a\\ufe0f'],
    ['tag character beyond the first plane', 'a\u{e0041}', 'a\\u{e0041}'],
    ['lone surrogate', 'a\ud800b', 'a\\ud800b']
  ])('%s', (_, given, shown) => {
    expect(visible(given)).toBe(shown);
  });

  it('leaves ordinary text of any script alone', () => {
    const text = 'Grüße · 你好 · שלום · مرحبا · 👍 · e\u0301 · <b>~12</b>';
    expect(visible(text)).toBe(text);
  });
});
