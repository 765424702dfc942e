/** The look of the explorer. Nothing is said by colour alone; high contrast keeps edges and outlines. */
import { PALETTE } from './styles';

export const EXPLORER_STYLES = `
.explorer {
  --accent: var(--jp-brand-color1, #1976d2);
  --back: var(--jp-layout-color1, Canvas);
  --code: var(--jp-code-font-family, ui-monospace, monospace);
  --edge: 1px solid var(--line);
  --chosen: color-mix(in srgb, var(--accent) 8%, var(--back));
  display: flex;
  flex-direction: column;
  height: var(--kandev-nb-height, min(70vh, 34rem));
  padding: 0;
  border: var(--edge);
  background: var(--back);
}
.explorer.bare { height: auto; }
.explorer * { box-sizing: border-box; }
.explorer :focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
.explorer :is(h2, h3, h4, ul, dl, dd, fieldset, legend) { margin: 0; padding: 0; border: 0; list-style: none; }
.explorer > :not(.panes) { padding: 4px 10px; border-bottom: var(--edge); }
.explorer .asked { background: var(--chosen); }
.explorer > :empty { display: none; }
.explorer .heading { align-items: center; padding: 0; }
.explorer .banner { margin: 0; }
.explorer :is(button, select, input, textarea) {
  min-height: 26px;
  max-width: 100%;
  padding: 2px 8px;
  border: 1px solid var(--muted);
  border-radius: 3px;
  background: var(--back);
  color: inherit;
  font: inherit;
}
.explorer [type='radio'] { min-height: 0; margin: 4px 0 0; align-self: start; }
button { cursor: pointer; }
.explorer [aria-disabled='true'] { opacity: 0.5; cursor: default; }
.explorer button:hover { background: var(--chosen); }
.close { margin-inline-start: auto; }
.panes { display: flex; flex: 1; min-height: 0; }
.wide .rail { flex: none; width: 14.5rem; overflow-y: auto; border-inline-end: var(--edge); }
.page { display: flex; flex: 1; flex-direction: column; min-width: 0; }
.body { flex: 1; padding: 0 10px 10px; overflow: hidden auto; }
.narrow .body:has(> .rail) { padding: 0; }
.explorer .back { align-self: start; border: 0; }
.arrow { display: inline-block; }
.arrow:dir(rtl) { transform: scaleX(-1); }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 10px; padding: 6px 10px; border-bottom: var(--edge); }
h2, h3 { font-size: 1.15em; }
.explorer :is(h3, h4, .branch) { padding-top: 8px; font-weight: 600; }
.explorer :is(.server, .tool) { display: flex; width: 100%; gap: 0 8px; border: solid var(--line); border-width: 0 0 1px; border-radius: 0; text-align: start; }
.explorer .server { align-items: baseline; border-inline-start: 3px solid var(--back); }
.server > span { display: flex; flex-direction: column; min-width: 0; }
.explorer .server[aria-current] { border-inline-start-color: var(--accent); background: var(--chosen); }
.tool { flex-wrap: wrap; align-items: center; }
.tool .name { flex: 1; font: var(--jp-code-font-size, 13px) var(--code); }
.number { font-variant-numeric: tabular-nums; }
.bar { width: 64px; height: 6px; border: var(--edge); }
.bar > span { display: block; height: 100%; background: var(--accent); forced-color-adjust: none; }
.estimate { display: flex; flex-wrap: wrap; align-items: center; gap: 0 10px; }
.muted { color: var(--muted); }
.muted .muted, [aria-current] .muted { color: inherit; }
.explorer :is(.notice, .trouble) { margin: 6px 0; padding: 2px 8px; border-inline-start: 3px solid ${PALETTE.amber}; }
.explorer .trouble { border-color: ${PALETTE.red}; }
.disclosures { display: flex; flex-wrap: wrap; column-gap: 18px; border-bottom: var(--edge); }
.disclosures > [open] { flex-basis: 100%; padding-bottom: 6px; }
summary { padding: 4px 0; cursor: pointer; }
.controls { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: 4px 12px; padding: 6px 0; background: var(--back); }
.controls input { flex: 1 1 9rem; min-width: 0; }
.actions { display: flex; flex-wrap: wrap; gap: 6px; padding: 10px 0 2px; }
.code { font-family: var(--code); }
.json { padding: 6px; border: var(--edge); white-space: pre-wrap; }
textarea { width: 100%; margin-top: 6px; }
.description { padding: 6px 0; }
.value + .value::before { content: ',\\20'; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 3px 8px 3px 0; border-bottom: var(--edge); text-align: start; vertical-align: baseline; }
thead th { color: var(--muted); font-weight: 400; }
caption { padding-top: 6px; text-align: start; font-weight: 600; }
.inside > details, .attempt > ul { margin-inline-start: 14px !important; }
.check, .option { display: flex; gap: 8px; padding: 2px 0; }
legend { font-weight: 600; }
.explorer fieldset + fieldset { margin-top: 8px; }
.sign { width: 1em; font-weight: 700; text-align: center; }
.facts > div { display: flex; flex-wrap: wrap; gap: 0 10px; }
dt { flex: 0 0 11rem; color: var(--muted); }
.track { position: relative; height: 28px; margin-inline-end: 24px; }
.span { position: absolute; top: 13px; border-top: 2px solid var(--muted); }
.explorer .mark { position: absolute; top: 3px; width: 22px; height: 22px; min-height: 0; padding: 0; border-radius: 50%; font-size: 0.85em; }
.mark:is(:hover, :focus) { z-index: 1; font-weight: 700; box-shadow: inset 0 0 0 1px; }
.explorer .mark.explicit_error { border: 2px solid ${PALETTE.red}; border-radius: 0; }
.mark:is(.connection_closed, .filtered, .unavailable) { border-style: dashed; }
.fact { min-height: 1.5em; font-weight: 600; }
@media (pointer: coarse) {
  .explorer :is(button:not(.mark), select, [type='search'], summary, .option) { min-height: 44px; min-width: 44px; }
}
@container (max-width: 640px) {
  .tool .name { flex-basis: 100%; }
  .arguments, .arguments :is(tbody, tr, th, td) { display: block; padding: 0; border: 0; }
  .arguments thead { display: none; }
  .arguments tr { padding: 6px 0; border-bottom: var(--edge); }
  .arguments td:empty { display: none; }
  [data-label]::before { content: attr(data-label) ':\\20'; color: var(--muted); }
}
@media (forced-colors: active) {
  .explorer .server { border-inline-start-color: Canvas; }
  .explorer .server[aria-current] { border-inline-start-color: Highlight; }
  .bar > span { background: CanvasText; }
}
`;
