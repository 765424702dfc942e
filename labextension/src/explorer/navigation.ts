/** Where a reader is. Pure: each move returns the next place, and what gets the focus there. */

export type Level = 'servers' | 'tools' | 'tool' | 'action' | 'asked';
export type Order = 'name' | 'tokens';

export interface Navigation {
  /** A wide view shows the servers always, and the tools in place of `servers`. */
  level: Level;
  /** The session and server that the tool or the action is of: it is left when they change. */
  place: string;
  tool: string;
  action: string;
  filter: string;
  order: Order;
  /** The disclosures that are open. */
  opened: readonly string[];
  /** The test ID of what gets the focus once it is drawn; `''` leaves the focus alone. */
  focus: string;
}

export const START: Navigation = {
  level: 'servers',
  place: '',
  tool: '',
  action: '',
  filter: '',
  order: 'name',
  opened: [],
  focus: ''
};

export const PAGE = 'kandev-page';

/** Opens the tools of another server: what was typed for the one before does not hold for it. */
export function openTools(from: Navigation): Navigation {
  return { ...from, level: 'tools', tool: '', filter: '', focus: PAGE };
}

export function openTool(from: Navigation, place: string, tool: string): Navigation {
  return { ...from, level: 'tool', place, tool, focus: PAGE };
}

export function openAction(from: Navigation, place: string, action: string): Navigation {
  return { ...from, level: 'action', place, action, focus: PAGE };
}

/** Begins again in another session; the switcher keeps the focus. */
export function openSession(from: Navigation): Navigation {
  return { ...from, level: 'servers', tool: '', filter: '', focus: '' };
}

export function openAsked(from: Navigation): Navigation {
  return { ...from, level: 'asked', focus: PAGE };
}

/** Returns from `level` to where it was opened; the row or button that opened it gets the focus. */
export function back(from: Navigation, level: Level, server: string): Navigation {
  if (level === 'tools') {
    return { ...from, level: 'servers', focus: `kandev-server-row-${server}` };
  }
  const focus = {
    tool: `kandev-tool-row-${from.tool}`,
    action: `kandev-action-${from.action}`,
    asked: 'kandev-asked',
    servers: ''
  }[level];
  return { ...from, level: 'tools', focus };
}

export function toggle(from: Navigation, name: string, isOpen: boolean): Navigation {
  const others = from.opened.filter(open => open !== name);
  return { ...from, focus: '', opened: isOpen ? [...others, name] : others };
}
