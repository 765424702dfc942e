/** The anywidget module: wires a widget's model to its view, and nothing else. */
import { h } from 'preact';

import type { Host } from './explorer/host';
import { mount, mountView } from './explorer/mount';
import { readRows } from './explorer/rows';
import { readTurn } from './explorer/turn';
import { type Listen, TurnView } from './explorer/turnView';
import { words } from './explorer/words';

type Event = 'change:rows' | 'msg:custom';

/** The part of anywidget's front-end module contract (AFM) that is used here. */
interface Model {
  get(trait: 'rows' | 'view'): unknown;
  on(event: Event, called: (content?: unknown) => void): void;
  off(event: Event, called: (content?: unknown) => void): void;
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

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  if (model.get('view') === 'turn') return mountView(el, h(TurnView, { listen: turnsOf(model) }));
  return mount(el, hostOf(model));
}

export default { render };
