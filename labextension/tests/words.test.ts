import { describe, expect, it } from 'vitest';

import { clock, rounded } from '../src/explorer/time';
import { Words } from '../src/explorer/words';
import { explore } from './explorerPage';
import { message } from './sample';
import { SceneHost } from './scene';

describe('UI: words', () => {
  const english = new Words();

  it('count one thing in the singular, and many with their thousands apart', () => {
    expect(english.count('tokens', 1)).toBe('~1 token');
    expect(english.count('tokens', 1240)).toBe('~1,240 tokens');
  });

  it('show what fills them in as text that can be seen, and never fill in twice', () => {
    expect(english.say('turn', { name: 'a\u202e{name}' })).toBe('Session "a\\u202e{name}"');
  });

  it('are those of a language where it has them, by key, for page and kernel alike', () => {
    const german = new Words('de', {
      'status.active': 'Aktiv',
      'page.tokens': '~{count} Token',
      'detail.tools': '{count} Werkzeuge ({more})'
    });
    expect(german.of(message('Active', 'status.active'))).toBe('Aktiv');
    expect(german.count('tokens', 1240)).toBe('~1.240 Token');
    const tools = { key: 'detail.tools', params: { count: 6 }, text: '6 tools' };
    expect(german.of(tools)).toBe('6 Werkzeuge ({more})');
    expect(german.of(message('Failed', 'status.failed'))).toBe('Failed');
    expect(german.say('evidence')).toBe('Evidence');
  });

  it('do not take a key for what every object has', () => {
    expect(english.of(message('Mine', 'constructor'))).toBe('Mine');
    expect(new Words('de', {}).of(message('Mine', 'toString'))).toBe('Mine');
  });
});

describe('UI: a document of another language', () => {
  it('asks the kernel once for the words of its language', async () => {
    document.documentElement.lang = 'de';
    const host = new SceneHost();
    host.answers['words'] = () => ({ 'status.active': 'Aktiv', 'page.evidence': 'Belege' });
    const page = await explore(host);

    expect(host.sent.filter(([operation]) => operation === 'words')).toEqual([
      ['words', { language: 'de' }]
    ]);
    expect(page.text('kandev-head')).toContain('Aktiv');
    expect(page.text('kandev-open-evidence')).toBe('Belege');
  });

  it.each(['en', 'en-GB', ''])('is English when it is "%s", and nothing is asked', async lang => {
    document.documentElement.lang = lang;
    const { host } = await explore();
    expect(host.sent.map(([operation]) => operation)).not.toContain('words');
  });

  it('is English when the kernel does not have it', async () => {
    document.documentElement.lang = 'eo';
    const host = new SceneHost();
    host.answers['words'] = () => {
      throw new Error('There is no such language.');
    };
    const page = await explore(host);
    expect(page.text('kandev-head')).toContain('Active');
  });
});

describe('UI: times', () => {
  const now = new Date(2026, 10, 30, 12);

  it('say the day only when it is another one', () => {
    const at = (day: number) =>
      clock(new Date(2026, 10, day, 9, 14, 5).toISOString(), 'en-GB', now);
    expect(at(30)).toBe('09:14:05');
    expect(at(29)).toBe('29 Nov 2026, 09:14:05');
  });

  it('stay as they are when they are none', () => {
    expect(clock('soon', 'en', now)).toBe('soon');
  });

  it.each([
    [0.4567, 0.46],
    [31.24, 31.2],
    [123.4, 123]
  ])('%d s is rounded to %d', (given, shown) => {
    expect(rounded(given)).toBe(shown);
  });
});
