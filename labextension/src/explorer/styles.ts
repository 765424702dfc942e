/** The look, inside the shadow root: Jupyter's variables where the host has them, its own where not. */
import type { Dot } from './rows';

/** Each at least 3:1 on the backgrounds of both JupyterLab themes. */
export const PALETTE: Record<Dot, string> = {
  green: '#2c9144',
  amber: '#c27803',
  red: '#e0393e',
  gray: '#868686'
};

const dots = Object.entries(PALETTE)
  .map(([name, colour]) => `.dot.${name} { color: ${colour}; }`)
  .join('\n');

export const STYLES = `
:host {
  --muted: var(--jp-ui-font-color2, color-mix(in srgb, currentColor 72%, transparent));
  --line: var(--jp-border-color2, color-mix(in srgb, currentColor 22%, transparent));
  display: block;
  container-type: inline-size;
  color: var(--jp-ui-font-color1, inherit);
  font-family: var(--jp-ui-font-family, system-ui, sans-serif);
  font-size: var(--jp-ui-font-size1, 13px);
  line-height: 1.5;
  overflow-wrap: anywhere;
  text-align: start;
}
section, .sentence { max-width: 56rem; margin: 0; padding: 4px 2px; outline: none; }
section:focus-visible { outline: 2px solid var(--jp-brand-color1, Highlight); }
p { margin: 0; }
.heading { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 8px; padding-bottom: 4px; }
.title { font-weight: 600; min-width: 0; }
.saved {
  padding: 0 7px;
  border: 1px solid var(--line);
  border-radius: 9px;
  color: var(--muted);
  font-size: 0.9em;
}
.banner {
  margin-bottom: 4px;
  padding: 4px 8px;
  border-inline-start: 3px solid ${PALETTE.red};
  background: color-mix(in srgb, ${PALETTE.red} 10%, transparent);
}
.rows {
  display: grid;
  grid-template-columns: auto fit-content(40%) 1fr;
  margin: 0;
  padding: 0;
  list-style: none;
}
.row {
  display: grid;
  grid-column: 1 / -1;
  grid-template-columns: subgrid;
  align-items: baseline;
  column-gap: 8px;
  padding: 3px 0;
  border-top: 1px solid var(--line);
}
.dot { width: 10px; height: 10px; flex: none; }
${dots}
.name { font-weight: 600; min-width: 0; }
.state { display: flex; flex-wrap: wrap; column-gap: 12px; min-width: 0; padding-inline-start: 12px; }
.state > * { min-width: 0; }
.detail, .empty, .note { color: var(--muted); }
.summary { flex-basis: 100%; color: var(--muted); }
.note { padding-top: 4px; font-size: 0.92em; }
.turn .heading { border-bottom: 1px solid var(--line); }
.turn .row:first-child { border-top: none; }
.turn .rows + .words { border-top: 1px solid var(--line); }
.words {
  max-height: 16em;
  padding: 4px 0;
  overflow: auto;
  font-family: var(--jp-code-font-family, ui-monospace, monospace);
  font-size: var(--jp-code-font-size, 13px);
  white-space: pre-wrap;
}
.words:focus-visible { outline: 2px solid var(--jp-brand-color1, Highlight); }
@container (max-width: 420px) {
  .rows { grid-template-columns: auto 1fr; }
  .state { grid-column: 2; flex-direction: column; padding-inline-start: 0; }
}
`;
