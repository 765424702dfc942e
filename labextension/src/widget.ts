/** The anywidget module: wires a widget's model to its view, and nothing else. */
import { h } from 'preact';

import { Explorer } from './explorer/explorer';
import type { Host } from './explorer/host';
import { type ExplorerModel, ModelHost } from './explorer/modelHost';
import { mount, mountView } from './explorer/mount';
import { readRows } from './explorer/rows';
import { readTurn } from './explorer/turn';
import { type Listen, TurnView } from './explorer/turnView';
import { english } from './explorer/words';

/** The part of anywidget's front-end module contract (AFM) that the table and the turn use. */
interface Model {
  get(trait: 'rows' | 'view'): unknown;
  on(event: string, called: (content?: unknown) => void): void;
  off(event: string, called: (content?: unknown) => void): void;
}

function hostOf(model: Model): Host {
  return {
    get() {
      const rows = readRows(model.get('rows'));
      return rows ? { rows, saved: false } : { sentence: english.say('unreadable') };
    },
    subscribe(changed) {
      model.on('change:rows', changed);
      return () => model.off('change:rows', changed);
    }
  };
}

function turnsOf(model: Model): Listen {
  return told => {
    const called = (message: unknown) => {
      const turn = readTurn(message);
      if (turn) told(turn);
    };
    model.on('msg:custom', called);
    return () => model.off('msg:custom', called);
  };
}

function explore(el: HTMLElement, model: ExplorerModel): () => void {
  const host = new ModelHost(model);
  const unmount = mountView(el, h(Explorer, { host }));
  return () => {
    unmount();
    host.close();
  };
}

function render({ model, el }: { model: Model & ExplorerModel; el: HTMLElement }): () => void {
  const view = model.get('view');
  if (view === 'explorer') return explore(el, model);
  if (view === 'turn') return mountView(el, h(TurnView, { listen: turnsOf(model) }));
  return mount(el, hostOf(model));
}

export default { render };
