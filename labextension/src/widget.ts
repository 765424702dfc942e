/** The anywidget module: wires the widget's model to the view, and nothing else. */
import type { Host } from './explorer/host';
import { mount } from './explorer/mount';
import { readRows } from './explorer/rows';
import { words } from './explorer/words';

/** The part of anywidget's front-end module contract (AFM) that is used here. */
interface Model {
  get(trait: 'rows'): unknown;
  on(event: 'change:rows', changed: () => void): void;
  off(event: 'change:rows', changed: () => void): void;
  send(request: unknown): void;
}

function hostOf(model: Model): Host {
  return {
    get() {
      const rows = readRows(model.get('rows'));
      return rows ? { rows, saved: false } : { sentence: words.unreadable };
    },
    subscribe(changed) {
      model.on('change:rows', changed);
      return () => model.off('change:rows', changed);
    },
    send: request => model.send(request)
  };
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  return mount(el, hostOf(model));
}

export default { render };
