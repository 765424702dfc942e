/** The explorer on a page of a test: of a width that the test chooses. */
import { h } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, vi } from 'vitest';

import { Explorer } from '../src/explorer/explorer';
import { mountView } from '../src/explorer/mount';
import { shadowIn } from './sample';
import { SceneHost } from './scene';

export interface ExplorerPage {
  host: SceneHost;
  root: ShadowRoot;
  all(selector: string): HTMLElement[];
  find(testId: string): HTMLElement | null;
  text(testId?: string): string;
  click(...testIds: string[]): Promise<void>;
  type(testId: string, value: string, event?: string): void;
  focused(): string | undefined;
  resize(width: number): void;
  set(...changes: Parameters<SceneHost['set']>): Promise<void>;
}

let observers: Set<(width: number) => void>;
let unmounts: (() => void)[] = [];

class Observer {
  constructor(private called: (entries: { contentRect: { width: number } }[]) => void) {}

  private tell = (width: number) => this.called([{ contentRect: { width } }]);

  observe(): void {
    observers.add(this.tell);
  }

  disconnect(): void {
    observers.delete(this.tell);
  }
}

function closeAll(): void {
  for (const unmount of unmounts) act(unmount);
  unmounts = [];
}

afterEach(() => {
  closeAll();
  document.documentElement.lang = '';
  vi.unstubAllGlobals();
});

/** Lets the replies that are there arrive, and what they change be drawn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await act(async () => Promise.resolve());
}

/** Opens the explorer in place of the one before; what the host has an answer for is answered. */
export async function explore(
  host = new SceneHost(),
  width = 900,
  close?: () => void
): Promise<ExplorerPage> {
  closeAll();
  observers = new Set();
  vi.stubGlobal('ResizeObserver', Observer);
  const parent = document.createElement('div');
  document.body.append(parent);
  act(() => {
    unmounts.push(mountView(parent, h(Explorer, { host, ...(close && { close }) })));
  });
  const root = shadowIn(parent);
  const all = (selector: string) => [...root.querySelectorAll<HTMLElement>(selector)];
  const find = (id: string) =>
    all('[data-testid]').find(({ dataset }) => dataset['testid'] === id) ?? null;
  const resize = (to: number) => act(() => observers.forEach(tell => tell(to)));
  resize(width);
  await settle();
  return {
    host,
    root,
    all,
    find,
    resize,
    text: id => (id ? find(id) : root.lastElementChild)?.textContent ?? '',
    focused: () => (root.activeElement as HTMLElement | null)?.dataset['testid'],
    async click(...ids) {
      for (const id of ids) {
        const target = find(id);
        if (!target) throw new Error(`nothing on the page is ${id}`);
        act(() => {
          if (target instanceof HTMLDetailsElement) {
            target.open = !target.open;
            target.dispatchEvent(new Event('toggle'));
          } else {
            target.focus();
            target.click();
          }
        });
        await settle();
      }
    },
    type(id, value, event = 'input') {
      act(() => {
        const field = find(id) as HTMLInputElement;
        field.value = value;
        field.dispatchEvent(new Event(event, { bubbles: true }));
      });
    },
    async set(changes) {
      act(() => host.set(changes));
      await settle();
    }
  };
}
