/** A whole session as the kernel tells of it, and a host that a test looks through. */
import type { ExplorerHost } from '../src/explorer/host';
import type { Dot } from '../src/explorer/rows';
import type {
  Argument,
  Arguments,
  Catalog,
  Detail,
  Lane,
  Mark,
  Scene,
  Tool
} from '../src/explorer/shown';
import { message, report, row } from './sample';

const LABELS: Record<string, [string, Dot]> = {
  active: ['Active', 'green'],
  connected: ['Connected', 'amber'],
  delivered: ['Delivered · connection unverified', 'amber'],
  failed: ['Failed', 'red'],
  filtered: ['Filtered', 'gray']
};

function server(name: string, status: string, changes = {}) {
  const [label, dot] = LABELS[status]!;
  return row(name, { status, dot, label: message(label, `status.${status}`), ...changes });
}

export const ROWS = [
  server('kandev', 'active', {
    built_in: true,
    tools: 6,
    tokens: 1240,
    catalog: 'r1',
    details: [message('6 tools', 'detail.tools'), message('used · 2 calls', 'detail.used')]
  }),
  server('github', 'delivered'),
  server('sse-events', 'filtered', { summary: message('The policy denies SSE servers.') }),
  server('files', 'failed', { summary: message('tools/list failed: the command was not found') }),
  server('שרת-הקבצים', 'connected', { tools: 2, tokens: 80, catalog: 'r2' })
];

const NONE: Arguments = { state: null, rows: [], branches: [], notes: [], schema: null };

export function argument(name: string, changes: Partial<Argument> = {}): Argument {
  return {
    name,
    type: 'string',
    required: false,
    default: null,
    values: [],
    constraints: [],
    description: '',
    children: [],
    note: null,
    ...changes
  };
}

export function takes(changes: Partial<Arguments> = {}): Arguments {
  return { ...NONE, ...changes };
}

export function tool(name: string, tokens = 0, changes: Partial<Tool> = {}): Tool {
  return {
    name,
    description: '',
    tokens,
    names: [],
    arguments: takes({ state: message('This tool takes no arguments.', 'arguments.none') }),
    ...changes
  };
}

const PLAN = tool('create_task_plan_kandev', 188, {
  description: 'Writes the plan of a task.\n\nIt replaces the plan that was there.',
  names: [
    { client: 'Claude Code', name: 'mcp__kandev__create_task_plan_kandev' },
    { client: 'opencode', name: 'kandev_create_task_plan_kandev' }
  ],
  arguments: takes({
    rows: [
      argument('title', { required: true, description: 'What the plan is called.' }),
      argument('steps', {
        type: 'array of object',
        required: true,
        constraints: ['at least 1 items'],
        children: [
          argument('text', { required: true }),
          argument('owner', { type: 'string | null', default: 'null' })
        ]
      }),
      argument('priority', {
        values: ['low', 'normal', 'high'],
        default: 'normal',
        description: 'How soon it is wanted.'
      }),
      argument('__proto__', { type: 'integer', constraints: ['≥ 0'] })
    ],
    schema: '{\n  "type": "object",\n  "properties": {\n    "title": {"type": "string"}\n  }\n}'
  })
});

export const CATALOGS: Record<string, Tool[]> = {
  r1: [
    tool('update_task_kandev', 264),
    PLAN,
    tool('get_task_kandev', 141, { description: 'Returns a task.' }),
    tool('ask_user_question_kandev', 412),
    tool('list_sessions_kandev', 119),
    tool('report_kandev', 116)
  ],
  r2: [tool('קריאת_קובץ', 50), tool('a\u202eevil\u200b', 30)]
};

function mark(kind: string, label: string, seconds: number, text = ''): Mark {
  return {
    kind,
    label: message(label, `check.${kind}`),
    at: new Date(Date.UTC(2026, 10, 30, 9, 14, 5) + seconds * 1000).toISOString(),
    seconds,
    provenance: message(seconds < 0.1 ? 'our own decision' : 'seen by our endpoint'),
    text
  };
}

export function lane(attempt: string, historical: boolean, seconds: number, marks: Mark[]): Lane {
  const heading = message(`Attempt ${attempt}`, 'attempt');
  return { attempt, heading, started_at: '2026-11-30T09:14:05Z', seconds, historical, marks };
}

const STEPS: [string, string][] = [
  ['configured', 'Configured'],
  ['delivered', 'Delivered to the agent'],
  ['session_accepted', 'Session accepted'],
  ['initialize_observed', 'Connected'],
  ['tools_list_observed', 'Tools loaded (served to the agent)'],
  ['tool_call_observed', 'Used']
];

export function detail(name = 'kandev', proven = 6, changes: Partial<Detail> = {}): Detail {
  return {
    server: name,
    checklist: STEPS.map(([kind, label], place) => ({
      kind,
      label: message(label, `check.${kind}`),
      state: place < proven ? 'proven' : 'open',
      at: place < proven ? '2026-11-30T09:14:05Z' : '',
      settle: place < proven ? null : message('nothing that Kandev can see. Ask the agent.')
    })),
    explanation: [message(`${name} is shown by what is proven.`)],
    facts: [
      { label: message('Session', 'fact.session'), value: 's-1', kind: 'text' },
      { label: message('Connected', 'fact.at'), value: '2026-11-30T09:14:05Z', kind: 'time' },
      { label: message('Requests', 'fact.count'), value: '1240', kind: 'count' }
    ],
    attempts: [
      {
        id: 'a1',
        heading: message('New session'),
        started_at: '2026-11-30T09:10:00Z',
        ended_at: '2026-11-30T09:14:00Z',
        rows: [{ name: 'kandev', label: message('Active'), dot: 'green', tools: 6 }]
      }
    ],
    lanes: [
      lane('2', false, 40, [
        mark('configured', 'Configured', 0),
        mark('delivered', 'Delivered to the agent', 0.05),
        mark('initialize_observed', 'Connected', 0.4),
        mark('tools_list_observed', 'Tools loaded', 0.5, '6 tools'),
        mark('tool_call_observed', 'Used', 31.2, '2 calls')
      ]),
      lane('1', true, 22, [
        mark('configured', 'Configured', 0),
        mark('delivered', 'Delivered to the agent', 0.04),
        mark('explicit_error', 'Failed', 11, 'initialize was refused'),
        mark('connection_closed', 'Connection closed', 20)
      ])
    ],
    tools_absent: null,
    notes: [],
    ...changes
  };
}

export const ESTIMATE = message(
  'Token counts are estimates with o200k_base: what the agent really pays varies by model and provider.',
  'note.estimate'
);

export function scene(changes: Partial<Scene> = {}): Scene {
  return {
    saved: false,
    sessions: [{ id: 's-1', label: message('triage'), state: 'live' }],
    session: 's-1',
    server: '',
    rows: report({
      heading: message('MCP servers · triage · opencode · execution 1 · attempt 2', 'heading'),
      notes: [ESTIMATE],
      rows: ROWS
    }),
    detail: detail(),
    actions: ['test_endpoint', 'recent_output', 'diagnostics', 'reset', 'restart', 'open_settings'],
    questions: [],
    permissions: [],
    ...changes
  };
}

type Sent = [operation: string, args: Record<string, unknown>];

/** A host that plays the kernel: it selects at once, and answers as a test says. */
export class SceneHost implements ExplorerHost {
  sent: Sent[] = [];
  answers: Record<string, (args: Record<string, unknown>) => unknown> = {
    catalog: args => this.catalogOf(args)
  };
  private listeners = new Set<() => void>();

  constructor(public shown: Scene | { sentence: string } = scene()) {}

  get(): Scene | { sentence: string } {
    return this.shown;
  }

  set(changes: Partial<Scene>): void {
    this.show({ ...(this.shown as Scene), ...changes });
  }

  show(shown: Scene | { sentence: string }): void {
    this.shown = shown;
    for (const listener of this.listeners) listener();
  }

  subscribe(changed: () => void): () => void {
    this.listeners.add(changed);
    return () => this.listeners.delete(changed);
  }

  select(selection: { session?: string; server?: string }): void {
    const { server } = selection;
    const row = (this.shown as Scene).rows.rows.find(({ name }) => name === server);
    const told = row ? { detail: this.detailOf(row.name, row.catalog) } : {};
    this.set({ ...selection, ...told });
  }

  /** Never answers what no test has an answer for, as a kernel that is busy. */
  send(operation: string, args: Record<string, unknown>): Promise<unknown> {
    this.sent.push([operation, args]);
    const answer = this.answers[operation];
    return answer ? Promise.resolve().then(() => answer(args)) : new Promise(() => undefined);
  }

  private catalogOf({ server, revision }: Record<string, unknown>): Catalog {
    const tools = CATALOGS[String(revision)];
    if (!tools) throw new Error('That catalog is not kept any more.');
    return { server: String(server), revision: String(revision), tools };
  }

  private detailOf(name: string, catalog: string): Detail {
    if (catalog) return detail(name);
    const absent = message(
      'The agent connects to this server directly: Kandev does not see its tools.'
    );
    return detail(name, 3, { tools_absent: absent });
  }
}
