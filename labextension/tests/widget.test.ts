import { act } from 'preact/test-utils';
import { describe, expect, it } from 'vitest';

import { english } from '../src/explorer/words';
import widget from '../src/widget';
import { message, report, row, shadowIn } from './sample';

/** What anywidget hands to a module, with a trait that a test sets. */
class FakeModel {
  listeners = new Set<() => void>();

  constructor(private rows: unknown) {}

  get(trait: string): unknown {
    return trait === 'rows' ? this.rows : undefined;
  }

  tell(rows: unknown): void {
    this.rows = rows;
    for (const listener of this.listeners) listener();
  }

  on(_: string, changed: () => void): void {
    this.listeners.add(changed);
  }

  off(_: string, changed: () => void): void {
    this.listeners.delete(changed);
  }

  set(): void {}

  save_changes(): void {}

  send(): void {}
}

function draw(model: FakeModel): { text: () => string; close: () => void } {
  const el = document.createElement('div');
  let close = () => undefined as void;
  act(() => {
    close = widget.render({ model, el });
  });
  const root = shadowIn(el);
  return { text: () => root.lastElementChild!.textContent!, close: () => act(close) };
}

describe('The anywidget module', () => {
  it('shows the rows of its model, and each change of them, until it is closed', () => {
    const model = new FakeModel(report());
    const view = draw(model);
    expect(view.text()).toContain('kandevDelivered');

    act(() => model.tell(report({ rows: [row('kandev', { label: message('Active') })] })));
    expect(view.text()).toContain('kandevActive');

    view.close();
    expect(model.listeners.size).toBe(0);
  });

  it('says so when its model holds something else', () => {
    expect(draw(new FakeModel({})).text()).toBe(english.say('unreadable'));
  });
});
