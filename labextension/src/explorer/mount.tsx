/** Puts a view into an element, behind a shadow root that keeps the host's styles and shortcuts out. */
import { type ComponentChild, render } from 'preact';

import { EXPLORER_STYLES } from './explorerStyles';
import type { Host } from './host';
import { StatusTable } from './statusTable';
import { STYLES } from './styles';

/** Draws the table for `host` in `parent`; the returned function takes it away again. */
export function mount(parent: HTMLElement, host: Host): () => void {
  return mountView(parent, <StatusTable host={host} />);
}

/** Draws any view in `parent`; the returned function takes it away again. */
export function mountView(parent: HTMLElement, view: ComponentChild): () => void {
  const element = document.createElement('div');
  element.className = 'kandev-nb';
  // Lumino leaves the keys alone that are pressed inside such an element.
  element.dataset.lmSuppressShortcuts = 'true';
  const root = element.attachShadow({ mode: 'open' });
  // Before it is drawn, so that a view can measure itself.
  parent.append(element);
  render(
    <>
      <style>{STYLES + EXPLORER_STYLES}</style>
      {view}
    </>,
    root
  );
  return () => {
    render(null, root);
    element.remove();
  };
}
