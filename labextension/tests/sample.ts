/** A small report, and a page to look at it on. */
import type { Host, Shown } from '../src/explorer/host';
import { mount } from '../src/explorer/mount';
import type { Message, Row, Rows } from '../src/explorer/rows';

export function message(text: string, key = 'verbatim'): Message {
  return { key, params: {}, text };
}

export function row(name: string, changes: Partial<Row> = {}): Row {
  return {
    name,
    status: 'delivered',
    dot: 'amber',
    label: message('Delivered · connection unverified', 'status.delivered'),
    details: [],
    summary: null,
    transport: '',
    target: '',
    built_in: false,
    tools: null,
    tokens: 0,
    catalog: '',
    ...changes
  };
}

export function report(changes: Partial<Rows> = {}): Rows {
  return {
    heading: message('MCP servers · session "triage"', 'heading'),
    banner: null,
    notes: [],
    empty: null,
    rows: [row('kandev')],
    ...changes
  };
}

/** A host whose state a test sets; it knows how many listen to it. */
export class FakeHost implements Host {
  listeners = new Set<() => void>();

  constructor(private shown: Shown) {}

  get(): Shown {
    return this.shown;
  }

  set(shown: Shown): void {
    this.shown = shown;
    for (const listener of this.listeners) listener();
  }

  subscribe(changed: () => void): () => void {
    this.listeners.add(changed);
    return () => this.listeners.delete(changed);
  }
}

export interface Page {
  element: HTMLElement;
  root: ShadowRoot;
  unmount: () => void;
  find(testId: string): HTMLElement;
}

/** Returns the shadow root that a view was drawn into. */
export function shadowIn(parent: HTMLElement): ShadowRoot {
  return (parent.firstElementChild as HTMLElement).shadowRoot!;
}

/** Mounts the view as a host would, and returns what is on the page. */
export function open(host: Host): Page {
  const parent = document.createElement('div');
  document.body.append(parent);
  const unmount = mount(parent, host);
  const root = shadowIn(parent);
  return {
    element: parent.firstElementChild as HTMLElement,
    root,
    unmount,
    find: testId => root.querySelector<HTMLElement>(`[data-testid="${testId}"]`)!
  };
}
