import { act } from 'preact/test-utils';
import { beforeEach, describe, expect, it } from 'vitest';

import { ModelHost } from '../src/explorer/modelHost';
import type { Scene } from '../src/explorer/shown';
import widget from '../src/widget';
import { message, report, row, shadowIn } from './sample';
import { detail } from './scene';

interface Request {
  id: string;
  op: string;
  args: Record<string, unknown>;
}

/** What anywidget hands to a module: traits, and messages both ways. */
class FakeModel {
  traits: Record<string, unknown> = {
    view: 'explorer',
    rows: report(),
    sessions: [],
    session: 's-1',
    server: '',
    actions: ['reset']
  };
  sent: Request[] = [];
  saved = 0;
  private listeners: [string, (content?: unknown) => void][] = [];

  get(trait: string): unknown {
    return this.traits[trait];
  }

  set(trait: string, value: unknown): void {
    this.traits[trait] = value;
    this.fire(`change:${trait}`);
  }

  save_changes(): void {
    this.saved += 1;
  }

  on(event: string, called: (content?: unknown) => void): void {
    this.listeners.push([event, called]);
  }

  off(event: string, called: (content?: unknown) => void): void {
    this.listeners = this.listeners.filter(([e, c]) => e !== event || c !== called);
  }

  send(request: unknown): void {
    this.sent.push(request as Request);
  }

  fire(event: string, content?: unknown): void {
    for (const [heard, called] of this.listeners) if (heard === event) called(content);
  }

  tell(content: unknown): void {
    this.fire('msg:custom', content);
  }

  get count(): number {
    return this.listeners.length;
  }
}

let model: FakeModel;
let host: ModelHost;
const shown = () => host.get() as Scene;

beforeEach(() => {
  model = new FakeModel();
  host = new ModelHost(model);
});

describe('The explorer of a widget', () => {
  it('asks once to be told of details', () => {
    expect(model.sent.map(({ op, args }) => [op, args])).toEqual([['watch', {}]]);
  });

  it('shows its traits, and each change of them', () => {
    let changes = 0;
    const leave = host.subscribe(() => changes++);
    expect(shown()).toMatchObject({
      saved: false,
      session: 's-1',
      actions: ['reset'],
      detail: null
    });

    model.set('rows', report({ rows: [row('files')] }));
    expect(shown().rows.rows[0]!.name).toBe('files');
    model.set('actions', []);
    expect(changes).toBe(2);

    leave();
    model.set('actions', ['reset']);
    expect(changes).toBe(2);
  });

  it('says so when its rows cannot be read', () => {
    model.set('rows', { heading: 5 });
    expect(host.get()).toHaveProperty('sentence');
  });

  it('keeps what it was told of each session apart', () => {
    const questions = [{ id: 'q', questions: [] }];
    model.tell({ channel: 'detail', session: 's-1', detail: detail() });
    model.tell({ channel: 'questions', session: 's-2', questions });
    expect(shown()).toMatchObject({ detail: { server: 'kandev' }, questions: [] });

    model.set('session', 's-2');
    expect(shown()).toMatchObject({ detail: null, questions });
  });

  it('saves what is selected, once', () => {
    host.select({ server: 'files' });
    expect(model.traits['server']).toBe('files');
    expect(model.saved).toBe(1);
  });

  it('does not show the servers of the session that was left as those of the next', () => {
    host.select({ session: 's-2' });
    expect(shown().rows.rows).toEqual([]);
    expect(shown().rows.empty!.key).toBe('page.loading');

    model.set('rows', report({ rows: [row('files')] }));
    expect(shown().rows.rows[0]!.name).toBe('files');
  });

  it('hands each reply to who asked, and refusals as words for the person', async () => {
    const [first, second] = [host.send('reset', { session: 's-1' }), host.send('restart', {})];
    const [, reset, restart] = model.sent;
    expect(reset).toMatchObject({ op: 'reset', args: { session: 's-1' } });

    model.tell({ id: restart!.id, error: message('The session has ended.') });
    model.tell({ id: reset!.id, reply: {} });
    await expect(first).resolves.toEqual({});
    await expect(second).rejects.toThrow('The session has ended.');
  });

  it('leaves the replies to another view of the model alone', () => {
    const other = new ModelHost(model);
    void other.send('reset', {});
    void host.send('reset', {});
    expect(new Set(model.sent.map(({ id }) => id)).size).toBe(4);
  });

  it.each([null, 5, 'text', {}, { id: 'unknown', reply: 1 }, { session: 's-1', text: '' }])(
    'does nothing with a message of another shape: %j',
    content => {
      expect(() => model.tell(content)).not.toThrow();
      expect(shown().detail).toBeNull();
    }
  );

  it('is drawn for its view, and lets go of the model when it is closed', () => {
    const own = new FakeModel();
    const el = document.createElement('div');
    let close = () => undefined as void;
    act(() => {
      close = widget.render({ model: own, el });
    });
    expect(shadowIn(el).querySelector('[data-testid="kandev-explorer"]')).not.toBeNull();

    act(close);
    expect(own.count).toBe(0);
    expect(el.childElementCount).toBe(0);
  });
});
