/** What the kernel makes ready for the explorer: words, order and tables. Nothing is worked out here. */
import type { Dot, Message, Rows } from './rows';

export interface Check {
  kind: string;
  label: Message;
  state: 'proven' | 'open' | 'failed';
  at: string;
  settle: Message | null;
}

export interface Fact {
  label: Message;
  value: string;
  kind: 'text' | 'time' | 'count';
}

/** An attempt that another one superseded. */
export interface Earlier {
  id: string;
  heading: Message;
  started_at: string;
  ended_at: string;
  rows: { name: string; label: Message; dot: Dot; tools: number | null }[];
}

export interface Mark {
  kind: string;
  label: Message;
  at: string;
  seconds: number;
  provenance: Message;
  text: string;
}

/** The events of one server in one attempt, and how long that attempt went on. */
export interface Lane {
  attempt: string;
  heading: Message;
  started_at: string;
  seconds: number;
  historical: boolean;
  marks: Mark[];
}

export interface Detail {
  server: string;
  checklist: Check[];
  explanation: Message[];
  facts: Fact[];
  attempts: Earlier[];
  lanes: Lane[];
  tools_absent: Message | null;
  notes: Message[];
}

export interface Argument {
  name: string;
  type: string;
  required: boolean;
  default: string | null;
  values: string[];
  constraints: string[];
  description: string;
  children: Argument[];
  note: Message | null;
}

export interface Arguments {
  state: Message | null;
  rows: Argument[];
  branches: { label: Message; rows: Argument[] }[];
  notes: Message[];
  schema: string | null;
}

export interface Tool {
  name: string;
  description: string;
  /** 0 when it is not known. */
  tokens: number;
  names: { client: string; name: string }[];
  arguments: Arguments;
}

export interface Catalog {
  server: string;
  revision: string;
  tools: Tool[];
}

/** Questions that are answered together, or not at all. */
export interface Bundle {
  id: string;
  /** What the person should know beforehand. */
  context?: string;
  questions: {
    id: string;
    title: string;
    prompt: string;
    options: { label: string; description: string }[];
  }[];
}

export interface Permission {
  id: string;
  title: string;
  tool: string;
  options: { id: string; label: string; kind: string }[];
}

export interface Session {
  id: string;
  label: Message;
  state: string;
}

/** One session, and the server of it that is selected; `''` before anybody chose one. */
export interface Scene {
  saved: boolean;
  sessions: Session[];
  session: string;
  server: string;
  rows: Rows;
  detail: Detail | null;
  actions: string[];
  questions: Bundle[];
  permissions: Permission[];
}
