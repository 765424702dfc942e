/**
 * The words of the page: English templates by key. The kernel says most of what is shown; these are
 * for what only the page knows. A language is one table of templates by message key, which fills in
 * for both: a key of this page begins with `page.` there. A key that counts something has a `.one`
 * form beside the ordinary one.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

import type { Message } from './rows';
import { visible } from './text';

type Params = Record<string, string | number>;

export type Templates = Record<string, string>;

const ENGLISH: Templates = {
  saved: 'saved',
  saved_meaning: 'Saved with the notebook; nothing here is live.',
  unreadable: 'This MCP server report cannot be read. Run the cell again to make a new one.',
  newer:
    'This MCP server report was saved by a newer kandev-nb. Update kandev-nb, or run the cell again.',
  heading: 'MCP servers',
  servers: 'Servers',
  session: 'Session',
  close: 'Close',
  'back.servers': 'Back to servers',
  'back.tools': 'Back to tools',
  loading: 'Loading …',
  busy: 'The kernel is busy: this comes when the cell has ended. If the kernel was restarted, run the cell again.',
  tools: 'Tools',
  tool_count: '{count} tools',
  'tool_count.one': '1 tool',
  tool_count_of: '{count} of {all} tools',
  filter: 'Filter tools',
  sort: 'Sort by',
  'by.name': 'name',
  'by.tokens': 'tokens',
  no_match: 'No tool matches.',
  tokens: '~{count} tokens',
  'tokens.one': '~1 token',
  share: '{percent} % of this server’s tools',
  no_description: 'The server gives no description.',
  shown_as: '{client} shows it as',
  arguments: 'Arguments',
  argument: 'Argument',
  type: 'Type',
  need: 'Need',
  default: 'Default',
  values: 'Allowed values',
  description: 'Description',
  required: 'Required',
  optional: 'Optional',
  inside: '{count} arguments inside {name}',
  'inside.one': '1 argument inside {name}',
  json: 'Schema as JSON',
  evidence: 'Evidence',
  proven: 'proven',
  open: 'not observed',
  failed: 'failed',
  settle: 'What would settle it: {settle}',
  details: 'Connection details',
  attempts: 'Earlier attempts ({count})',
  historical: 'historical',
  timeline: 'Timeline',
  timeline_hint:
    'All attempts have one scale. Marks that would cover each other stand apart. Arrow keys go from mark to mark.',
  as_table: 'The same as a table',
  event: 'Event',
  time: 'Time',
  after: 'After',
  provenance: 'Known from',
  seconds: '{count} s',
  actions: 'Actions',
  'action.test_endpoint': 'Test endpoint',
  'action.recent_output': 'Recent agent output',
  'action.diagnostics': 'Copy diagnostics',
  'action.reset': 'Reset',
  'action.restart': 'Restart',
  'action.open_settings': 'Open MCP settings',
  'confirm.reset':
    'The agent gets a new conversation and forgets what was said so far. The notebook keeps its outputs.',
  'confirm.restart':
    'The agent’s process ends and a new one begins. What was said so far is lost to it, unless it can load the session.',
  confirm_hint: 'Space, a click or a tap confirms; Enter does not.',
  consent: 'Start it and test',
  done: 'Done.',
  copy: 'Copy',
  copied: 'Copied to the clipboard.',
  not_copied: 'The browser refused the clipboard. Copy the marked text.',
  asked: 'The agent waits for you: {count} answers',
  'asked.one': 'The agent waits for you: 1 answer',
  asked_show: 'Show',
  question: 'Question of the agent',
  permission: 'Permission for {tool}',
  answer: 'Answer',
  decline: 'Decline all',
  turn: 'Session "{name}"',
  working: 'The agent is working',
  interrupted: 'Interrupted',
  agent_says: 'What the agent says',
  calls: 'Tool calls',
  call_count: '{count} tool calls',
  'call_count.one': '1 tool call',
  earlier_calls: '{count} earlier tool calls',
  'earlier_calls.one': '1 earlier tool call',
  'call.pending': 'pending',
  'call.in_progress': 'running',
  'call.completed': 'completed',
  'call.failed': 'failed',
  'call.cancelled': 'cancelled'
};

/** One language: what it does not hold is said in English. */
export class Words {
  constructor(
    readonly language = 'en',
    private templates: Templates = {}
  ) {}

  /** The page's own text of that key. */
  say(key: string, params: Params = {}): string {
    return this.filled(this.template(`page.${key}`) ?? ENGLISH[key] ?? key, params);
  }

  /** The text for `count` things. */
  count(key: string, count: number, params: Params = {}): string {
    return this.say(count === 1 ? `${key}.one` : key, { count, ...params });
  }

  /** The kernel's text, as it may be looked at. */
  of({ key, params, text }: Message): string {
    const template = this.template(key);
    return template === undefined ? visible(text) : this.filled(template, params);
  }

  has(key: string): boolean {
    return key in ENGLISH;
  }

  private template(key: string): string | undefined {
    return Object.hasOwn(this.templates, key) ? this.templates[key] : undefined;
  }

  private filled(template: string, params: Params): string {
    return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
      const value = Object.hasOwn(params, name) ? params[name]! : whole;
      return typeof value === 'number' ? value.toLocaleString(this.language) : visible(value);
    });
  }
}

export const english = new Words();

export const Spoken = createContext(english);

export const useWords = (): Words => useContext(Spoken);
