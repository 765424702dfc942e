/**
 * The explorer's host in a cell: an anywidget model. Rows, sessions and what is selected are its
 * traits. What no notebook may save comes in messages: details, questions, and replies to requests.
 */
import type { ExplorerHost } from './host';
import { type Message, readRows, type Rows } from './rows';
import type { Bundle, Detail, Permission, Scene, Session } from './shown';
import { english } from './words';

const TRAITS = ['rows', 'sessions', 'session', 'server', 'actions', 'saved'] as const;
export type Trait = (typeof TRAITS)[number];

/** The part of anywidget's front-end module contract (AFM) that is used here. */
export interface ExplorerModel {
  get(trait: Trait): unknown;
  set(trait: Trait, value: unknown): void;
  save_changes(): void;
  on(event: string, called: (content?: unknown) => void): void;
  off(event: string, called: (content?: unknown) => void): void;
  send(request: unknown): void;
}

interface Waiting {
  resolve(reply: unknown): void;
  reject(error: Error): void;
}

type Told = Partial<Record<string, unknown>>;

const WAITING: Rows = {
  heading: { key: 'page.heading', params: {}, text: english.say('heading') },
  banner: null,
  notes: [],
  empty: { key: 'page.loading', params: {}, text: english.say('loading') },
  rows: []
};

const listOf = <T>(value: unknown): T[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export class ModelHost implements ExplorerHost {
  private told = new Map<string, unknown>();
  private waiting = new Map<string, Waiting>();
  private listeners = new Set<() => void>();
  /** The rows of the session that was left, until the kernel has those of the next. */
  private left: unknown = null;
  private count = 0;
  // All views of a model hear the replies to each of them.
  private readonly name = Math.random().toString(36).slice(2);

  constructor(private model: ExplorerModel) {
    for (const trait of TRAITS) model.on(`change:${trait}`, this.changed);
    model.on('msg:custom', this.hear);
    // The kernel tells its details to those who watch.
    this.send('watch', {}).catch(() => undefined);
  }

  /** Lets go of the model; nothing is told any more. */
  close(): void {
    for (const trait of TRAITS) this.model.off(`change:${trait}`, this.changed);
    this.model.off('msg:custom', this.hear);
  }

  get(): Scene | { sentence: string } {
    const held = this.model.get('rows');
    const rows = held === this.left ? WAITING : readRows(held);
    if (!rows) return { sentence: english.say('unreadable') };
    const session = textOf(this.model.get('session'));
    return {
      saved: this.model.get('saved') === true,
      sessions: listOf<Session>(this.model.get('sessions')),
      session,
      server: textOf(this.model.get('server')),
      rows,
      detail: (this.told.get(`detail\n${session}`) ?? null) as Detail | null,
      actions: listOf<string>(this.model.get('actions')),
      questions: listOf<Bundle>(this.told.get(`questions\n${session}`)),
      permissions: listOf<Permission>(this.told.get(`permissions\n${session}`))
    };
  }

  subscribe(changed: () => void): () => void {
    this.listeners.add(changed);
    return () => this.listeners.delete(changed);
  }

  select(selection: { session?: string; server?: string }): void {
    if (selection.session !== undefined) this.left = this.model.get('rows');
    for (const [trait, value] of Object.entries(selection)) this.model.set(trait as Trait, value);
    this.model.save_changes();
  }

  send(op: string, args: Record<string, unknown>): Promise<unknown> {
    const id = `${this.name}-${++this.count}`;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.model.send({ id, op, args });
    });
  }

  private changed = (): void => {
    for (const listener of this.listeners) listener();
  };

  private hear = (message: unknown): void => {
    if (typeof message !== 'object' || message === null) return;
    const { id, channel, session, error, reply, ...rest } = message as Told;
    if (typeof channel === 'string') {
      this.told.set(`${channel}\n${textOf(session)}`, rest[channel]);
      this.changed();
    } else {
      this.settle(textOf(id), error, reply);
    }
  };

  private settle(id: string, error: unknown, reply: unknown): void {
    const asked = this.waiting.get(id);
    if (!asked) return;
    this.waiting.delete(id);
    if (error) asked.reject(new Error((error as Message).text));
    else asked.resolve(reply);
  }
}
