import { act } from 'preact/test-utils';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { HELD, kept } from '../src/explorer/catalogs';
import type { Catalog } from '../src/explorer/shown';
import { PATIENCE } from '../src/explorer/waiting';
import { explore, type ExplorerPage, settle } from './explorerPage';
import { message, report } from './sample';
import { argument, CATALOGS, detail, ROWS, scene, SceneHost, takes, tool } from './scene';

const PLAN = 'kandev-tool-row-create_task_plan_kandev';
const toolRows = (page: ExplorerPage) => page.all('.tool .name').map(row => row.textContent);

afterEach(() => {
  vi.useRealTimers();
});

describe('UI/Explorer: wide', () => {
  it('opens at kandev, with the servers beside its tools, and tells the kernel so', async () => {
    const page = await explore();
    expect(page.all('.server').map(server => server.getAttribute('aria-current'))).toEqual([
      'true',
      null,
      null,
      null,
      null
    ]);
    expect(page.text('kandev-server-row-kandev')).toBe('kandevActive~1,240 tokens');
    expect(page.text('kandev-head')).toBe('kandevActive6 toolsused · 2 calls');
    expect((page.host.shown as { server: string }).server).toBe('kandev');
    expect(page.find('kandev-back')).toBeNull();
  });

  it('shows of a tool its name and estimate, and explains the estimate once', async () => {
    const page = await explore();
    expect(page.text(PLAN)).toBe('create_task_plan_kandev~188 tokens');
    expect(page.text('kandev-total')).toMatch(
      /^6 tools · ~1,240 tokens · Token counts are estimates/
    );
    expect(page.text().split('o200k_base')).toHaveLength(2);
    expect(page.all('.tool .bar > span')[0]!.style.inlineSize).toBe('100%');
  });

  it('filters and sorts the tools, and says how many match', async () => {
    const page = await explore();
    page.type('kandev-sort', 'tokens', 'change');
    expect(toolRows(page).slice(0, 2)).toEqual(['ask_user_question_kandev', 'update_task_kandev']);

    page.type('kandev-filter', 'task');
    expect(toolRows(page)).toHaveLength(3);
    expect(page.text('kandev-total')).toMatch(/^3 of 6 tools/);

    page.type('kandev-filter', 'nothing like it');
    expect(page.text()).toContain('No tool matches.');
  });

  it('goes to a tool and back to its row, which has the focus again', async () => {
    const page = await explore();
    page.find('kandev-page')!.scrollTop = 70;
    await page.click(PLAN);
    expect(page.focused()).toBe('kandev-page');
    expect(page.find('kandev-page')!.scrollTop).toBe(0);
    expect(page.text('kandev-back')).toContain('Back to tools');

    await page.click('kandev-back');
    expect(page.focused()).toBe(PLAN);
    expect(page.find('kandev-page')!.scrollTop).toBe(70);
  });

  it('reads each tool from its beginning, also one that was read before', async () => {
    const page = await explore();
    await page.click(PLAN);
    page.find('kandev-page')!.scrollTop = 50;
    await page.click('kandev-back', PLAN);
    expect(page.find('kandev-page')!.scrollTop).toBe(0);
  });

  it('keeps the list offset of each server', async () => {
    const page = await explore();
    page.find('kandev-page')!.scrollTop = 70;
    await page.click('kandev-server-row-files');
    expect(page.find('kandev-page')!.scrollTop).toBe(0);

    await page.click('kandev-server-row-kandev');
    expect(page.find('kandev-page')!.scrollTop).toBe(70);
  });

  it('has Close only where there is something to close', async () => {
    const close = vi.fn();
    const page = await explore(new SceneHost(), 900, close);
    await page.click('kandev-close');
    expect(close).toHaveBeenCalledOnce();
    expect((await explore()).find('kandev-close')).toBeNull();
  });
});

describe('UI/Explorer: narrow', () => {
  it('shows one page at a time: servers, tools, one tool, and back', async () => {
    const page = await explore(new SceneHost(), 320);
    expect(page.find('kandev-total')).toBeNull();

    await page.click('kandev-server-row-kandev');
    expect(page.find('kandev-rail')).toBeNull();
    expect(page.text('kandev-back')).toContain('Back to servers');

    await page.click(PLAN, 'kandev-back', 'kandev-back');
    expect(page.focused()).toBe('kandev-server-row-kandev');
    expect(page.find('kandev-back')).toBeNull();
  });

  it('follows its own box, and stays at the tool that is open', async () => {
    const page = await explore();
    await page.click(PLAN);
    page.resize(320);
    expect(page.find('kandev-tool-page')).not.toBeNull();
    expect(page.find('kandev-rail')).toBeNull();

    page.resize(0);
    expect(page.find('kandev-rail')).toBeNull();
    page.resize(640);
    expect(page.find('kandev-rail')).not.toBeNull();
  });
});

describe('UI/Explorer: live updates', () => {
  it('take the focus from nobody and leave the list where it is', async () => {
    const page = await explore();
    act(() => page.find('kandev-filter')!.focus());
    page.find('kandev-page')!.scrollTop = 70;
    const before = page.find(PLAN);
    await page.set({ rows: report({ rows: [...ROWS].reverse() }), detail: detail('kandev', 4) });

    expect(page.focused()).toBe('kandev-filter');
    expect(page.find('kandev-page')!.scrollTop).toBe(70);
    expect(page.find(PLAN)).toBe(before);
  });

  it('ask for a catalog once a revision, and show the last one meanwhile', async () => {
    const page = await explore();
    const revisions = () =>
      page.host.sent.filter(([op]) => op === 'catalog').map(([, args]) => args['revision']);
    await page.click('kandev-server-row-github', 'kandev-server-row-kandev');
    expect(revisions()).toEqual(['r1']);

    let answer: (reply: unknown) => void = () => undefined;
    page.host.answers['catalog'] = () => new Promise(resolve => (answer = resolve));
    const rows = ROWS.map(row => (row.name === 'kandev' ? { ...row, catalog: 'r9' } : row));
    await page.set({ rows: report({ rows }) });
    expect(revisions()).toEqual(['r1', 'r9']);
    expect(toolRows(page)).toHaveLength(6);
    expect(page.text()).toContain('Loading …');

    act(() => answer({ server: 'kandev', revision: 'r9', tools: [tool('only')] }));
    await settle();
    expect(toolRows(page)).toEqual(['only']);
    expect(page.text()).not.toContain('Loading …');
  });

  it('go back to the tools when the tool vanishes, with the focus in the page', async () => {
    const page = await explore();
    await page.click(PLAN);
    act(() => page.find('kandev-back')!.focus());
    page.host.answers['catalog'] = () => ({ tools: [tool('only')] });
    const rows = ROWS.map(row => (row.name === 'kandev' ? { ...row, catalog: 'r9' } : row));
    await page.set({ rows: report({ rows }) });

    expect(page.find('kandev-tool-page')).toBeNull();
    expect(toolRows(page)).toEqual(['only']);
    expect(page.focused()).toBe('kandev-page');
  });

  it('keep the focus in the page when the row that has it vanishes', async () => {
    const page = await explore();
    act(() => page.find(PLAN)!.focus());
    page.host.answers['catalog'] = () => ({ tools: [tool('only')] });
    const rows = ROWS.map(row => (row.name === 'kandev' ? { ...row, catalog: 'r9' } : row));
    await page.set({ rows: report({ rows }) });
    expect(page.focused()).toBe('kandev-page');
  });

  it('leave the focus outside when it was outside', async () => {
    const page = await explore();
    const outside = document.body.appendChild(document.createElement('input'));
    act(() => page.find(PLAN)!.focus());
    act(() => outside.focus());
    await page.set({ rows: report({ rows: [] }) });
    expect(document.activeElement).toBe(outside);
    outside.remove();
  });

  it('go to kandev when the server vanishes, and say so to the kernel', async () => {
    const page = await explore();
    await page.click('kandev-server-row-files');
    await page.set({ rows: report({ rows: ROWS.filter(({ name }) => name !== 'files') }) });

    expect(page.text('kandev-head')).toContain('kandev');
    expect((page.host.shown as { server: string }).server).toBe('kandev');
  });

  it('keep a disclosure open, also from server to server', async () => {
    const page = await explore();
    await page.click('kandev-open-evidence', 'kandev-server-row-github');
    expect(page.find('kandev-evidence-delivered')).not.toBeNull();
    await page.set({ detail: detail('github', 2) });
    expect(page.find('kandev-evidence-delivered')).not.toBeNull();
  });
});

describe('UI/Explorer: what is known of a server', () => {
  it('is a checklist in signs and words, and never a failure for what was not observed', async () => {
    const page = await explore();
    await page.click('kandev-server-row-github', 'kandev-open-evidence');
    expect(page.text('kandev-evidence-delivered')).toMatch(
      /^✓Delivered to the agent proven .*\d\d/
    );
    expect(page.text('kandev-evidence-tool_call_observed')).toBe(
      '○Used not observed What would settle it: nothing that Kandev can see. Ask the agent.'
    );
  });

  it('has the connection details, and the earlier attempts as historical', async () => {
    const page = await explore();
    await page.click('kandev-open-details', 'kandev-open-attempts');
    expect(page.all('dd').map(({ textContent }) => textContent)[2]).toBe('1,240');
    expect(page.all('dd time')[0]!.getAttribute('datetime')).toBe('2026-11-30T09:14:05Z');
    expect(page.all('.attempt')[0]!.textContent).toMatch(
      /^New session historical .*kandev Active 6 tools$/
    );
  });

  it('says why there are no tools, and keeps its notes outside every disclosure', async () => {
    const notes = [message('Showing 128 of 300 tools', 'a'), message('partial list', 'b')];
    const page = await explore();
    await page.click('kandev-server-row-github');
    expect(page.all('.empty')[0]!.textContent).toMatch(
      /^The agent connects to this server directly/
    );

    await page.set({ detail: detail('github', 3, { notes }) });
    expect(page.all('.notice').map(note => [note.textContent, note.closest('details')])).toEqual([
      ['Showing 128 of 300 tools', null],
      ['partial list', null]
    ]);
  });
});

describe('UI/Explorer: one tool', () => {
  async function showing(changes: Parameters<typeof tool>[2], tokens = 0): Promise<ExplorerPage> {
    const host = new SceneHost();
    host.answers['catalog'] = () => ({ tools: [tool('it', tokens, changes)] });
    const page = await explore(host);
    await page.click('kandev-tool-row-it');
    return page;
  }

  it('says how clients show its name, what it costs, and what part that is', async () => {
    const page = await explore();
    await page.click(PLAN);
    expect(page.text('kandev-tool-page')).toContain('~188 tokens15 % of this server’s tools');
    expect(page.text('kandev-tool-page')).toContain(
      'Claude Code shows it as mcp__kandev__create_task_plan_kandev'
    );
  });

  it('has its arguments as a table: only columns that say something', async () => {
    const page = await explore();
    await page.click(PLAN);
    expect(page.all('.arguments thead')[0]!.textContent).toBe(
      'ArgumentTypeNeedDefaultAllowed valuesDescription'
    );
    expect(page.text('kandev-argument-title')).toBe('titlestringRequiredWhat the plan is called.');
    expect(page.text('kandev-argument-priority')).toBe(
      'prioritystringOptionalnormallownormalhighHow soon it is wanted.'
    );
    expect(page.text('kandev-argument-__proto__')).toContain('≥ 0');
    expect(page.text('kandev-argument-owner')).toBe('ownerstring | nullOptionalnull');
    expect(page.all('.inside details').map(inside => inside.hasAttribute('open'))).toEqual([false]);

    const bare = await showing({ arguments: takes({ rows: [argument('a')] }) });
    expect(bare.all('.arguments thead')[0]!.textContent).toBe('ArgumentTypeNeed');
  });

  it('has branches, notes and the schema as text', async () => {
    const page = await showing({
      arguments: takes({
        rows: [argument('__proto__')],
        branches: [{ label: message('Either'), rows: [argument('a')] }],
        notes: [message('The schema was cut.')],
        schema: '{\n  "<b>": "x"\n}'
      })
    });
    expect(page.text('kandev-tool-page')).toContain('Either');
    expect(page.text('kandev-tool-page')).toContain('The schema was cut.');
    expect(page.text('kandev-json')).toBe('Schema as JSON{  "<b>": "x"}');
    expect(page.all('b')).toHaveLength(0);
  });

  it('says so when there is no description and no estimate', async () => {
    const page = await showing({});
    expect(page.text('kandev-tool-page')).toBe(
      'itThe server gives no description.ArgumentsThis tool takes no arguments.'
    );
  });

  it('says one token in the singular', async () => {
    expect((await showing({}, 1)).text('kandev-tool-page')).toContain('~1 token100 %');
  });
});

describe('CA-5: text of a provider in the explorer', () => {
  const NASTY = '<img src=x onerror="alert(1)"> **b** [a](http://b) \u001b[31m\u202e';
  const SPELLED = '<img src=x onerror="alert(1)"> **b** [a](http://b) \\u001b[31m\\u202e';

  it('is never markup, and what is invisible is spelled out', async () => {
    const host = new SceneHost();
    const it_ = tool(NASTY, 5, {
      description: NASTY,
      names: [{ client: NASTY, name: NASTY }],
      arguments: takes({
        rows: [
          argument(NASTY, {
            type: NASTY,
            default: NASTY,
            values: [NASTY],
            constraints: [NASTY],
            description: NASTY,
            note: message(NASTY),
            children: [argument(NASTY)]
          })
        ],
        schema: NASTY
      })
    });
    host.answers['catalog'] = () => ({ tools: [it_] });
    const page = await explore(host);
    await page.click(`kandev-tool-row-${NASTY}`);

    expect(page.all('img, a, b, i')).toHaveLength(0);
    expect(page.text('kandev-tool-page').split(SPELLED)).toHaveLength(15);
    expect(page.text('kandev-tool-page')).not.toMatch(/[\u001b\u202e]/);
  });

  it('keeps its own direction', async () => {
    const page = await explore();
    await page.click('kandev-server-row-שרת-הקבצים');
    expect(page.all('.tool .name').map(({ localName }) => localName)).toEqual(['bdi', 'bdi']);
    expect(toolRows(page)).toEqual(['a\\u202eevil\\u200b', 'קריאת_קובץ']);
  });
});

describe('UI/States', () => {
  it('says a sentence where there is no kernel, and goes on when there is one', async () => {
    const page = await explore(new SceneHost({ sentence: 'No kernel is connected.' }));
    expect(page.text()).toBe('No kernel is connected.');
    act(() => page.host.show(scene()));
    await settle();
    expect(page.text('kandev-head')).toContain('kandev');
  });

  it('says that the kernel is busy when nothing came for a second, and no more when it comes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const page = await explore(new SceneHost(scene({ server: 'kandev', detail: null })));
    expect(page.text('kandev-page')).toContain('Loading …');
    act(() => void vi.advanceTimersByTime(PATIENCE - 1));
    expect(page.text('kandev-page')).toContain('Loading …');
    act(() => void vi.advanceTimersByTime(1));
    expect(page.text('kandev-page')).toMatch(
      /The kernel is busy: this comes when the cell has ended/
    );

    await page.set({ detail: detail() });
    expect(page.text('kandev-page')).not.toContain('busy');
  });

  it('says why a catalog could not be had', async () => {
    const rows = report({ rows: [{ ...ROWS[0]!, catalog: 'lost' }] });
    const page = await explore(new SceneHost(scene({ rows })));
    expect(page.text('kandev-page')).toContain('! That catalog is not kept any more.');
    expect(page.text('kandev-page')).not.toContain('Loading');
  });

  it.each([320, 900])(
    'says that nothing was started, with the actions there are, at %i px',
    async width => {
      const rows = report({ rows: [], empty: message('Nothing started yet.') });
      const page = await explore(
        new SceneHost(scene({ rows, detail: null, actions: ['diagnostics'] })),
        width
      );
      expect(page.text()).toContain('Nothing started yet.');
      expect(page.find('kandev-action-diagnostics')).not.toBeNull();
      expect(page.find('kandev-rail')).toBeNull();
    }
  );

  it('marks a saved copy, and waits for nothing in it', async () => {
    const saved = scene({ saved: true, server: 'kandev', detail: null, actions: [] });
    const page = await explore(new SceneHost(saved));
    expect(page.text('kandev-saved')).toBe('saved');
    expect(page.text()).not.toContain('Loading');
    expect(page.all('.actions')).toHaveLength(0);
  });

  it('shows a session error as a banner that changes no row', async () => {
    const rows = report({ rows: ROWS, banner: message('Session error: refused') });
    const page = await explore(new SceneHost(scene({ rows })));
    expect(page.text('kandev-session-error')).toBe('Session error: refused');
    expect(page.text('kandev-head')).toContain('Active');
  });

  it('switches between sessions where there are several, and begins at the servers', async () => {
    const sessions = ['s-1', 's-2'].map(id => ({ id, label: message(id), state: 'live' }));
    const page = await explore(new SceneHost(scene({ sessions })), 320);
    await page.click('kandev-server-row-kandev');
    page.type('kandev-switcher', 's-2', 'change');
    await settle();
    expect((page.host.shown as { session: string }).session).toBe('s-2');
    expect(page.find('kandev-rail')).not.toBeNull();
    expect((await explore()).find('kandev-switcher')).toBeNull();
  });

  it('shows many servers and tools', async () => {
    CATALOGS['many'] = Array.from({ length: 128 }, (_, at) => tool(`tool_${at}`, at));
    const rows = Array.from({ length: 20 }, (_, at) => ({
      ...ROWS[0]!,
      name: `server-${at}`,
      catalog: 'many'
    }));
    const page = await explore(new SceneHost(scene({ rows: report({ rows }) })));
    expect(page.all('.server')).toHaveLength(20);
    expect(toolRows(page)).toHaveLength(128);
  });
});

describe('The catalogs that a page holds', () => {
  it('are the last eight', () => {
    const catalog = { server: 'a', revision: 'r', tools: [] };
    let held: ReadonlyMap<string, Catalog> = new Map();
    for (let at = 0; at < HELD + 3; at++) held = kept(held, `${at}`, catalog);
    held = kept(held, '3', catalog);
    expect([...held.keys()]).toEqual(['4', '5', '6', '7', '8', '9', '10', '3']);
  });
});

describe('UI: keys in the explorer', () => {
  it('do not leave it, and Enter in the filter does nothing', async () => {
    const heard = vi.fn();
    document.body.addEventListener('keydown', heard);
    const page = await explore();
    for (const key of ['a', 'b', 'Enter']) {
      const event = new KeyboardEvent('keydown', { key, bubbles: true, composed: true });
      act(() => void page.find('kandev-filter')!.dispatchEvent(event));
    }
    document.body.removeEventListener('keydown', heard);
    expect(heard).not.toHaveBeenCalled();
    expect(page.root.host.getAttribute('data-lm-suppress-shortcuts')).toBe('true');
    expect(page.find('kandev-total')).not.toBeNull();
  });
});
