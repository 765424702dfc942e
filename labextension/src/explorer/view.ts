/** What is on the page: of what the kernel made ready, where the reader is, how wide it is. Pure. */
import type { Level, Navigation, Order } from './navigation';
import type { Message, Row, Rows } from './rows';
import type { Catalog, Detail, Scene, Tool } from './shown';

/** The server that an explorer opens at. */
const BUILT_IN = 'kandev';

export interface View {
  wide: boolean;
  page: Level;
  /** The session and the server that are shown. */
  place: string;
  /** The page that Back leads to. */
  back: 'servers' | 'tools' | null;
  row: Row | null;
  /** Of the selected server; null while it is on its way. */
  detail: Detail | null;
  tool: Tool | null;
  /** The tools that match, in order. */
  tools: readonly Tool[];
  /** How many tools there are to filter. */
  all: number;
  tokens: number;
  /** The tokens of the largest tool. */
  most: number;
  notes: readonly Message[];
  /** What the numbers are. */
  estimate: Message | null;
  actions: readonly string[];
  /** How many answers the agent waits for. */
  asked: number;
}

/** Returns the row of `server`; when it is not there any more, the built-in one, or the first. */
export function selectedRow({ rows }: Rows, server: string): Row | null {
  const named = (name: string) => rows.find(row => row.name === name);
  return named(server) ?? named(BUILT_IN) ?? rows[0] ?? null;
}

export function placeOf(session: string, row: Row | null): string {
  return `${session}\n${row?.name ?? ''}`;
}

/** Returns the tools whose name or description holds every word of `filter`. */
export function matching(tools: readonly Tool[], filter: string): Tool[] {
  const words = filter.toLowerCase().split(/\s+/);
  return tools.filter(({ name, description }) => {
    const text = `${name}\n${description}`.toLowerCase();
    return words.every(word => text.includes(word));
  });
}

/** Returns the tools in order: by name, or the largest first. */
export function sorted(tools: readonly Tool[], order: Order): Tool[] {
  const byName = (a: Tool, b: Tool) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  return [...tools].sort((a, b) => (order === 'tokens' ? b.tokens - a.tokens : 0) || byName(a, b));
}

/** Returns the level where the reader is, or the one that is left when its subject has gone. */
function pageOf(view: Omit<View, 'page' | 'back'>, at: Navigation): Level {
  const isHere = at.place === view.place;
  if (at.level === 'asked' && view.asked > 0) return 'asked';
  if (at.level === 'action' && isHere && view.actions.includes(at.action)) return 'action';
  if (at.level === 'tool' && isHere && view.tool) return 'tool';
  const isFirst = at.level === 'servers' || !view.row;
  return isFirst && !view.wide ? 'servers' : 'tools';
}

function backFrom(page: Level, row: Row | null, wide: boolean): View['back'] {
  if (page === 'servers' || (page === 'tools' && wide)) return null;
  return page === 'tools' || !row ? 'servers' : 'tools';
}

const isEstimate = ({ key }: Message) => key === 'note.estimate';

function toolsOf(catalog: Catalog | null, at: Navigation) {
  const tools = catalog?.tools ?? [];
  const tokens = tools.map(each => each.tokens);
  return {
    tool: tools.find(({ name }) => name === at.tool) ?? null,
    tools: sorted(matching(tools, at.filter), at.order),
    all: tools.length,
    tokens: tokens.reduce((sum, each) => sum + each, 0),
    most: Math.max(0, ...tokens)
  };
}

/** Returns the view of `scene` from `at`; `catalog` is that of the selected server. */
export function viewOf(scene: Scene, catalog: Catalog | null, at: Navigation, wide: boolean): View {
  const { rows, detail, actions } = scene;
  const row = selectedRow(rows, scene.server);
  const view = {
    wide,
    row,
    place: placeOf(scene.session, row),
    detail: detail && detail.server === row?.name ? detail : null,
    ...toolsOf(catalog, at),
    notes: rows.notes.filter(note => !isEstimate(note)),
    estimate: rows.notes.find(isEstimate) ?? null,
    actions,
    asked: scene.questions.length + scene.permissions.length
  };
  const page = pageOf(view, at);
  return { ...view, page, back: backFrom(page, row, wide) };
}
