import { act } from 'preact/test-utils';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { explore, settle } from './explorerPage';
import { message } from './sample';
import { detail, scene, SceneHost } from './scene';

const sentBy = (host: SceneHost, operation: string) =>
  host.sent.filter(([op]) => op === operation).map(([, args]) => args);

/** Presses Enter as a browser does: it clicks, unless somebody prevents that. */
function enter(target: HTMLElement): void {
  const event = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true });
  act(() => {
    if (target.dispatchEvent(event)) target.click();
  });
}

function answering(
  operation: string,
  answer: (args: Record<string, unknown>) => unknown
): SceneHost {
  const host = new SceneHost();
  host.answers[operation] = answer;
  return host;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('UI/Actions', () => {
  it('are those that the kernel offers and the page knows', async () => {
    const page = await explore(new SceneHost(scene({ actions: ['reset', 'of a later version'] })));
    expect(page.all('.actions button').map(({ textContent }) => textContent)).toEqual(['Reset']);
  });

  it('go back to the tools with the focus on their button', async () => {
    const page = await explore();
    await page.click('kandev-action-reset', 'kandev-back');
    expect(page.focused()).toBe('kandev-action-reset');
  });

  it('say why they were refused', async () => {
    const refuse = () => {
      throw new Error('The session has ended.');
    };
    const page = await explore(answering('recent_output', refuse));
    await page.click('kandev-action-recent_output');
    expect(page.text('kandev-action-page')).toBe('Recent agent output! The session has ended.');
  });
});

describe('UI/Actions: Test endpoint', () => {
  const tested = (args: Record<string, unknown>) => ({
    text: message('Test reached the server: 12 tools in 84 ms'),
    lines: [message('Protocol 2026-07-28')],
    consent: args['consent'] ? null : message('This starts npx.')
  });

  it('asks once before it starts anything, and shows the result beside the status', async () => {
    const page = await explore(answering('test_endpoint', tested));
    await page.click('kandev-action-test_endpoint');
    expect(page.text('kandev-action-page')).toContain('This starts npx.');
    expect(page.text('kandev-action-page')).not.toContain('reached');

    await page.click('kandev-consent');
    expect(page.text('kandev-action-page')).toContain('Test reached the server: 12 tools in 84 ms');
    expect(page.text('kandev-head')).toContain('Active');
    expect(sentBy(page.host, 'test_endpoint')).toEqual([
      { session: 's-1', server: 'kandev', consent: false },
      { session: 's-1', server: 'kandev', consent: true }
    ]);
  });

  it('is never begun for another server because the first one vanished', async () => {
    const page = await explore(answering('test_endpoint', tested));
    await page.click('kandev-server-row-files', 'kandev-action-test_endpoint');
    const { rows } = page.host.shown as ReturnType<typeof scene>;
    await page.set({ rows: { ...rows, rows: rows.rows.filter(({ name }) => name !== 'files') } });

    expect(page.find('kandev-action-page')).toBeNull();
    expect(sentBy(page.host, 'test_endpoint')).toHaveLength(1);
  });

  it('goes on through a live update', async () => {
    const page = await explore(answering('test_endpoint', tested));
    await page.click('kandev-action-test_endpoint', 'kandev-consent');
    await page.set({ detail: detail('kandev', 2) });
    expect(page.text('kandev-action-page')).toContain('Test reached the server');
    expect(sentBy(page.host, 'test_endpoint')).toHaveLength(2);
  });
});

describe('UI/Actions: what loses something', () => {
  it.each(['reset', 'restart'])(
    '%s is confirmed first, and Enter does not confirm it',
    async operation => {
      const page = await explore(answering(operation, () => ({})));
      await page.click(`kandev-action-${operation}`);
      expect(page.text('kandev-action-page')).toMatch(/forgets|lost/);
      expect(sentBy(page.host, operation)).toEqual([]);

      enter(page.find('kandev-confirm')!);
      expect(sentBy(page.host, operation)).toEqual([]);

      await page.click('kandev-confirm');
      expect(sentBy(page.host, operation)).toEqual([{ session: 's-1' }]);
      expect(page.text('kandev-action-page')).toContain('Done.');
      expect(page.find('kandev-confirm')).toBeNull();
      expect(page.focused()).toBe('kandev-page');
    }
  );
});

describe('UI/Actions: Recent agent output', () => {
  it('warns first, and shows each line as text', async () => {
    const lines = ['one', '\u001b[31m<b>two</b>'];
    const reply = { warning: message('It may contain prompts.'), lines, why_none: null };
    const page = await explore(answering('recent_output', () => reply));
    await page.click('kandev-action-recent_output');
    expect(page.text('kandev-action-page')).toBe(
      'Recent agent outputIt may contain prompts.one\\u001b[31m<b>two</b>'
    );
  });

  it('says why there is none', async () => {
    const why_none = message('The agent wrote nothing.');
    const reply = { warning: message('W.'), lines: [], why_none };
    const page = await explore(answering('recent_output', () => reply));
    await page.click('kandev-action-recent_output');
    expect(page.text('kandev-action-page')).toContain('The agent wrote nothing.');
  });
});

describe('UI/Actions: Copy diagnostics', () => {
  const reply = { text: 'kandev-nb 0.1.0', left_out: message('Left out: prompts.') };

  async function copying(writeText: () => Promise<void>) {
    const write = vi.spyOn(navigator.clipboard, 'writeText').mockImplementation(writeText);
    const page = await explore(answering('diagnostics', () => reply));
    await page.click('kandev-action-diagnostics');
    await settle();
    return { page, write };
  }

  it('puts the text on the clipboard, and says what it leaves out', async () => {
    const { page, write } = await copying(() => Promise.resolve());
    expect(write).toHaveBeenCalledWith('kandev-nb 0.1.0');
    expect(page.text('kandev-copied')).toBe('Copied to the clipboard.');
    expect(page.text('kandev-action-page')).toContain('Left out: prompts.');
  });

  it('marks the text where the clipboard is refused', async () => {
    const { page } = await copying(() => Promise.reject(new Error('denied')));
    expect(page.text('kandev-copied')).toMatch(/^The browser refused the clipboard/);
    const area = page.all('textarea')[0] as HTMLTextAreaElement;
    expect(page.root.activeElement).toBe(area);
    expect([area.selectionStart, area.selectionEnd]).toEqual([0, area.value.length]);
  });
});

describe('UI/Actions: Open MCP settings', () => {
  it('shows the path, or the profile where there is none', async () => {
    const profile = '{\n  "servers": []\n}';
    const page = await explore(
      answering('open_settings', () => ({ path: '/a/mcp.json', profile: null }))
    );
    await page.click('kandev-action-open_settings');
    expect(page.text('kandev-action-page')).toContain('/a/mcp.json');

    const other = await explore(answering('open_settings', () => ({ path: null, profile })));
    await other.click('kandev-action-open_settings');
    expect(other.text('kandev-action-page')).toContain('"servers": []');
  });
});

describe('UI: questions and permissions', () => {
  const options = [
    { label: 'Yes', description: 'Do it.' },
    { label: 'No', description: '' }
  ];
  const questions = [
    {
      id: 'q',
      questions: [
        { id: 'a', title: 'First', prompt: 'One?', options },
        { id: 'b', title: 'Second', prompt: 'Two?', options }
      ]
    }
  ];
  const permissions = [
    {
      id: 'p',
      title: 'Run rm',
      tool: 'bash',
      options: [{ id: 'once', label: 'Allow once', kind: 'allow_once' }]
    }
  ];

  async function asked(changes: object, width = 900) {
    const host = new SceneHost(scene(changes));
    host.answers['answer'] = host.answers['permission'] = () => ({});
    const page = await explore(host, width);
    await page.click('kandev-asked');
    return page;
  }

  it('are said on every page, and take the focus from nobody', async () => {
    const page = await explore();
    act(() => page.find('kandev-filter')!.focus());
    await page.set({ questions, permissions });
    expect(page.all('.asked')[0]!.textContent).toBe('The agent waits for you: 2 answers Show');
    expect(page.focused()).toBe('kandev-filter');
    await page.set({ questions: [], permissions: [] });
    expect(page.all('.asked')[0]!.textContent).toBe('');
  });

  it('are answered together, once each has an answer', async () => {
    const page = await asked({ questions });
    const radios = page.all('input[type=radio]') as HTMLInputElement[];
    const answer = page.find('kandev-answer')!;
    act(() => radios[0]!.click());
    await page.click('kandev-answer');
    expect(sentBy(page.host, 'answer')).toEqual([]);
    expect(answer.getAttribute('aria-disabled')).toBe('true');

    act(() => radios[3]!.click());
    expect(answer.getAttribute('aria-disabled')).toBe('false');
    enter(answer);
    expect(sentBy(page.host, 'answer')).toEqual([]);

    await page.click('kandev-answer');
    expect(sentBy(page.host, 'answer')).toEqual([{ id: 'q', answers: { a: 'Yes', b: 'No' } }]);
    expect(answer.getAttribute('aria-disabled')).toBe('true');
  });

  it('are declined as a whole', async () => {
    const page = await asked({ questions }, 320);
    await page.click('kandev-decline');
    expect(sentBy(page.host, 'answer')).toEqual([{ id: 'q', answers: null }]);
  });

  it('keep what was chosen while the page is live', async () => {
    const page = await asked({ questions });
    act(() => (page.all('input[type=radio]')[0] as HTMLInputElement).click());
    await page.set({ detail: detail('kandev', 2), permissions });
    expect((page.all('input[type=radio]')[0] as HTMLInputElement).checked).toBe(true);
  });

  it('let a permission be given as the agent offers it', async () => {
    const page = await asked({ permissions });
    expect(page.text('kandev-permission-p')).toBe('Permission for bashRun rmAllow once');
    await page.click('kandev-option-once');
    expect(sentBy(page.host, 'permission')).toEqual([{ id: 'p', option: 'once' }]);
  });

  it('lead back to the tools when all are answered', async () => {
    const page = await asked({ permissions });
    await page.set({ permissions: [] });
    expect(page.find('kandev-total')).not.toBeNull();
  });
});
