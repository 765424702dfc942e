import { act } from 'preact/test-utils';
import { describe, expect, it } from 'vitest';

import widget from '../src/widget';
import { shadowIn } from './sample';

/** What anywidget hands to a module: a model without state, of which a test sends messages. */
class FakeModel {
  listeners = new Set<(message: unknown) => void>();

  get(trait: string): unknown {
    return trait === 'view' ? 'turn' : undefined;
  }

  on(event: string, called: (message: unknown) => void): void {
    expect(event).toBe('msg:custom');
    this.listeners.add(called);
  }

  off(_: string, called: (message: unknown) => void): void {
    this.listeners.delete(called);
  }

  set(): void {}

  save_changes(): void {}

  send(): void {}

  tell(changes: Record<string, unknown> = {}): void {
    const message = {
      session: 'triage',
      state: 'running',
      seconds: 3,
      text: '',
      first_line: 0,
      tool_call_count: 0,
      tool_calls: [],
      ...changes
    };
    act(() => this.listeners.forEach(told => told(message)));
  }
}

function draw(): { model: FakeModel; root: ShadowRoot; close: () => void } {
  const model = new FakeModel();
  const el = document.createElement('div');
  let close = () => undefined as void;
  act(() => {
    close = widget.render({ model, el });
  });
  return { model, root: shadowIn(el), close: () => act(close) };
}

function find(root: ShadowRoot, testId: string): HTMLElement {
  return root.querySelector<HTMLElement>(`[data-testid="${testId}"]`)!;
}

function lines(root: ShadowRoot): string[] {
  return [...find(root, 'kandev-turn-words').children].map(line => line.textContent!);
}

describe('SA-1: a turn', () => {
  it('is nothing until the kernel tells of it, and is listened to until it is closed', () => {
    const { model, root, close } = draw();
    expect(root.querySelector('section')).toBeNull();

    model.tell({ text: 'Looking …' });
    expect(root.querySelector('section')!.textContent).toBe(
      'Session "triage"The agent is working3 sLooking …'
    );

    close();
    expect(model.listeners.size).toBe(0);
  });

  it('shows each tool call by name, with its state in words and in the shape of its dot', () => {
    const { model, root } = draw();
    const statuses = ['pending', 'in_progress', 'completed', 'failed', 'a later word'];
    model.tell({
      tool_call_count: 9,
      tool_calls: statuses.map((status, at) => ({ number: at + 5, name: `tool ${at}`, status }))
    });

    const calls = [...root.querySelectorAll('[data-testid="kandev-tool-call"]')];
    expect(calls.map(call => call.textContent)).toEqual([
      'tool 0pending',
      'tool 1running',
      'tool 2completed',
      'tool 3failed',
      'tool 4a later word'
    ]);
    expect(calls.map(call => call.querySelector('.dot')!.classList[1])).toEqual([
      'gray',
      'amber',
      'green',
      'red',
      'gray'
    ]);
    expect(find(root, 'kandev-turn-state').textContent).toContain('9 tool calls');
    expect(root.querySelector('p.note')!.textContent).toBe('4 earlier tool calls');
  });

  it('says that it was interrupted, and with it the tool calls that had not ended', () => {
    const { model, root } = draw();
    const calls = ['pending', 'in_progress', 'completed', 'failed'].map((status, number) => ({
      number,
      name: '',
      status
    }));
    model.tell({ state: 'interrupted', tool_calls: calls });

    expect(find(root, 'kandev-turn-state').textContent).toBe('Interrupted');
    expect([...root.querySelectorAll('li')].map(call => call.textContent)).toEqual([
      'cancelled',
      'cancelled',
      'completed',
      'failed'
    ]);
  });

  it('is told politely: its state, and of its words the new lines only', () => {
    const { model, root } = draw();
    model.tell({ text: 'one\ntwo' });
    const two = find(root, 'kandev-turn-words').children[1]!;

    model.tell({ text: 'two and a half\nthree\n', first_line: 1, seconds: 4 });

    expect(lines(root)).toEqual(['two and a half', 'three']);
    expect(find(root, 'kandev-turn-words').children[0]).toBe(two);
    expect(find(root, 'kandev-turn-words').getAttribute('role')).toBe('log');
    const state = find(root, 'kandev-turn-state');
    expect([state.getAttribute('role'), state.getAttribute('aria-live')]).toEqual([
      'status',
      'polite'
    ]);
    expect(state.textContent).not.toContain('4 s');
  });
});

describe('CA-5: what an agent says', () => {
  it('stays text, with the unseen spelled out, and lines and tabs as they are', () => {
    const { model, root } = draw();
    model.tell({
      text: '<img src=x onerror="x()"> **b** [l](http://x)\r\n\u202ea\u001b[31mb\tc\r\n',
      tool_calls: [{ number: 1, name: '<b>x</b>\u200b', status: '<i>' }]
    });

    expect(lines(root)).toEqual([
      '<img src=x onerror="x()"> **b** [l](http://x)',
      '\\u202ea\\u001b[31mb\tc'
    ]);
    expect(root.querySelector('.name')!.textContent).toBe('<b>x</b>\\u200b');
    expect(root.querySelectorAll('img, b, i, a')).toHaveLength(0);
  });

  it.each([undefined, null, 5, 'text', [], {}, { session: 5, text: '' }, { session: 's' }])(
    'changes nothing when it is of another shape: %j',
    message => {
      const { model, root } = draw();
      act(() => model.listeners.forEach(told => told(message)));
      expect(root.querySelector('section')).toBeNull();
    }
  );

  it('is shown as far as it is understood', () => {
    const { model, root } = draw();
    model.tell({ tool_calls: [null, { name: 5 }], tool_call_count: '9', seconds: null });
    expect(root.querySelectorAll('[data-testid="kandev-tool-call"]')).toHaveLength(2);
  });
});
