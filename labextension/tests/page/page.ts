/** A page to look at the explorer on, without a kernel; `#` chooses what it shows. */
import { h } from 'preact';

import { Explorer } from '../../src/explorer/explorer';
import { mountView } from '../../src/explorer/mount';
import { message, report } from '../sample';
import { CATALOGS, detail, ROWS, scene, SceneHost, tool } from '../scene';

const QUESTIONS = [
  {
    id: 'q1',
    questions: [
      {
        id: 'a',
        title: 'Branch',
        prompt: 'Which branch shall I work on?',
        options: [
          { label: 'main', description: 'What is released.' },
          { label: 'next', description: '' }
        ]
      },
      {
        id: 'b',
        title: 'Tests',
        prompt: 'Shall I run the tests?\nThey take a minute.',
        options: [
          { label: 'Yes', description: '' },
          { label: 'No', description: '' }
        ]
      }
    ]
  }
];

const PERMISSIONS = [
  {
    id: 'p1',
    title: 'Run `rm -r build`',
    tool: 'bash',
    options: [
      { id: 'once', label: 'Allow once', kind: 'allow_once' },
      { id: 'never', label: 'Reject', kind: 'reject_once' }
    ]
  }
];

function many() {
  const rows = Array.from({ length: 20 }, (_, at) => ({
    ...ROWS[at % ROWS.length]!,
    name: at ? `server-${at}` : 'kandev'
  }));
  CATALOGS['r1'] = Array.from({ length: 128 }, (_, at) => tool(`tool_number_${at}`, 40 + 7 * at));
  const notes = [message('Showing 128 of 300 tools', 'n1'), message('partial list', 'n2')];
  return scene({
    rows: report({ rows, notes: scene().rows.notes }),
    detail: detail('kandev', 5, { notes })
  });
}

const SCENES: Record<string, () => ReturnType<typeof scene> | { sentence: string }> = {
  ordinary: () => scene(),
  many,
  asked: () => scene({ questions: QUESTIONS, permissions: PERMISSIONS }),
  banner: () =>
    scene({
      rows: report({ rows: ROWS, banner: message('Session error: the agent could not log in') }),
      sessions: ['s-1', 's-2'].map(id => ({ id, label: message(id), state: 'live' }))
    }),
  nothing: () =>
    scene({
      rows: report({ rows: [], empty: message('Nothing started yet.') }),
      detail: null,
      actions: ['diagnostics']
    }),
  saved: () => scene({ saved: true, detail: null, actions: [] }),
  waiting: () => scene({ server: 'kandev', detail: null }),
  sentence: () => ({ sentence: 'No kernel is connected.' })
};

const host = new SceneHost(SCENES[location.hash.slice(1) || 'ordinary']!());
Object.assign(host.answers, {
  test_endpoint: ({ consent }: { consent?: boolean }) => ({
    text: message('Test reached the server: 12 tools in 84 ms'),
    lines: [message('Protocol 2026-07-28 · kandev 0.1.0')],
    consent: consent
      ? null
      : message('This starts `npx` on this computer and asks it for its tools.')
  }),
  recent_output: () => ({
    warning: message('This may contain prompts, file contents or credentials.'),
    lines: ['starting', '\u001b[31mfailed\u001b[0m', '\ttabbed'],
    why_none: null
  }),
  diagnostics: () => ({
    text: 'kandev-nb 0.1.0\nsession s-1',
    left_out: message('Left out: prompts, output.')
  }),
  open_settings: () => ({ path: '/home/me/mcp.json', profile: '{\n  "servers": []\n}' })
});
mountView(document.getElementById('here')!, h(Explorer, { host }));
