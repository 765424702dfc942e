/** The rows as the kernel made them. They may come out of a notebook that anyone wrote: read, not trusted. */

export interface Message {
  key: string;
  params: Record<string, string | number>;
  text: string;
}

const DOTS = ['green', 'amber', 'red', 'gray'] as const;
export type Dot = (typeof DOTS)[number];

export interface Row {
  name: string;
  status: string;
  dot: Dot;
  label: Message;
  details: Message[];
  summary: Message | null;
  transport: string;
  target: string;
  built_in: boolean;
  /** How many tools were served; null before any were. */
  tools: number | null;
  /** What they take together; 0 when it is not known. */
  tokens: number;
  /** The revision of the catalog; empty when there is none. */
  catalog: string;
}

export interface Rows {
  heading: Message;
  banner: Message | null;
  notes: Message[];
  empty: Message | null;
  rows: Row[];
}

type Fields = Record<string, unknown>;

class Unreadable extends Error {}

function fields(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Unreadable('not an object');
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new Unreadable('not text');
}

function list<T>(value: unknown, read: (item: unknown) => T): T[] {
  if (Array.isArray(value)) return value.map(read);
  throw new Unreadable('not a list');
}

function optional<T>(value: unknown, read: (item: unknown) => T): T | null {
  return value === null || value === undefined ? null : read(value);
}

function message(value: unknown): Message {
  const { key, params, text: english } = fields(value);
  return { key: text(key), params: fields(params) as Message['params'], text: text(english) };
}

/** A colour of a later version is shown as the one that claims least. */
function dot(value: unknown): Dot {
  return DOTS.find(known => known === value) ?? 'gray';
}

/** What a row of an earlier version does not hold is not known. */
function facts(of: Fields) {
  const { transport, target, built_in, tools, tokens, catalog } = of;
  return {
    transport: typeof transport === 'string' ? transport : '',
    target: typeof target === 'string' ? target : '',
    built_in: built_in === true,
    tools: typeof tools === 'number' ? tools : null,
    tokens: typeof tokens === 'number' ? tokens : 0,
    catalog: typeof catalog === 'string' ? catalog : ''
  };
}

function row(value: unknown): Row {
  const of = fields(value);
  const { name, status, dot: colour, label, details, summary } = of;
  return {
    ...facts(of),
    name: text(name),
    status: text(status),
    dot: dot(colour),
    label: message(label),
    details: list(details, message),
    summary: optional(summary, message)
  };
}

function rows(value: unknown): Rows {
  const { heading, banner, notes, empty, rows: servers } = fields(value);
  return {
    heading: message(heading),
    banner: optional(banner, message),
    notes: list(notes, message),
    empty: optional(empty, message),
    rows: list(servers, row)
  };
}

/** Returns the rows, or null when `value` is not of their shape. */
export function readRows(value: unknown): Rows | null {
  try {
    return rows(value);
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}
