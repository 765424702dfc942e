import axe from 'axe-core';
import { act } from 'preact/test-utils';
import { describe, expect, it } from 'vitest';

import { explore, settle } from './explorerPage';
import { message, report } from './sample';
import { detail, ROWS, scene, SceneHost } from './scene';

const TOOL = 'kandev-tool-row-create_task_plan_kandev';
const OPTIONS = [{ label: 'Yes', description: '' }];
const ASKED = {
  questions: [{ id: 'q', questions: [{ id: 'a', title: 'T', prompt: 'P', options: OPTIONS }] }],
  permissions: [{ id: 'p', title: 't', tool: 'x', options: [{ id: 'o', label: 'l', kind: 'k' }] }]
};
const SESSIONS = ['s-1', 's-2'].map(id => ({ id, label: message(id), state: 'live' }));

function host(changes = {}): SceneHost {
  const made = new SceneHost(scene(changes));
  Object.assign(made.answers, {
    test_endpoint: () => ({ text: message('x'), lines: [], consent: message('starts npx') }),
    recent_output: () => ({ warning: message('w'), lines: ['a'], why_none: null }),
    diagnostics: () => ({ text: 'a', left_out: message('b') }),
    open_settings: () => ({ path: '/a', profile: '{}' })
  });
  return made;
}

const STATES: [string, SceneHost['shown'], string[]][] = [
  ['servers and tools', scene(), []],
  ['a tool', scene(), [TOOL]],
  ['evidence', scene(), ['kandev-open-evidence']],
  ['the timeline', scene(), ['kandev-open-timeline']],
  ['details', scene(), ['kandev-open-details', 'kandev-open-attempts']],
  ['a server without tools', scene(), ['kandev-server-row-github']],
  ['questions', scene(ASKED), ['kandev-asked']],
  ['a test', scene(), ['kandev-action-test_endpoint']],
  ['output', scene(), ['kandev-action-recent_output']],
  ['diagnostics', scene(), ['kandev-action-diagnostics']],
  ['settings', scene(), ['kandev-action-open_settings']],
  ['reset', scene(), ['kandev-action-reset']],
  ['no kernel', { sentence: 'No kernel is connected.' }, []],
  ['loading', scene({ server: 'kandev', detail: null }), []],
  ['nothing started', scene({ rows: report({ rows: [], empty: message('Nothing.') }) }), []],
  ['a saved copy', scene({ saved: true, actions: [] }), []],
  [
    'an error',
    scene({ rows: report({ rows: ROWS, banner: message('E') }), sessions: SESSIONS }),
    []
  ],
  ['notes', scene({ detail: detail('kandev', 1, { notes: [message('N')] }), server: 'kandev' }), []]
];

async function violations(shown: SceneHost['shown'], width: number, ids: string[]) {
  const page = await explore(host(), width);
  act(() => page.host.show(shown));
  await settle();
  if (
    width < 640 &&
    ids[0] !== 'kandev-server-row-github' &&
    page.find('kandev-server-row-kandev')
  ) {
    await page.click('kandev-server-row-kandev');
  }
  await page.click(...ids);
  // Neither colours nor sizes are there to be judged without a browser.
  const found = await axe.run(page.root.host, {
    rules: { 'color-contrast': { enabled: false }, region: { enabled: false } }
  });
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`);
}

describe('UI: axe finds nothing', () => {
  it.each(STATES)('in a wide explorer with %s', async (_, shown, ids) => {
    expect(await violations(shown, 900, ids)).toEqual([]);
  });

  it.each(STATES)('in a narrow explorer with %s', async (_, shown, ids) => {
    expect(await violations(shown, 320, ids)).toEqual([]);
  });
});
