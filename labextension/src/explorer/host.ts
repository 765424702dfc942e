/** The one seam between a view and where it stands: a cell, a panel, or a saved notebook. */
import type { Rows } from './rows';
import type { Scene } from './shown';

/** What there is to show: rows, or a sentence that says why there are none. */
export type Shown = { rows: Rows; saved: boolean } | { sentence: string };

/** What a table needs. */
export interface Host<S = Shown> {
  /** The state of this moment. */
  get(): S;
  /** Calls `changed` after each change, until the returned function is called. */
  subscribe(changed: () => void): () => void;
}

/** What the explorer needs; several of them may show one model, and stay in step. */
export interface ExplorerHost extends Host<Scene | { sentence: string }> {
  /** Says which session and which server are shown. */
  select(selection: { session?: string; server?: string }): void;
  /** Resolves with the kernel's reply; rejects with an `Error` whose message is for the person. */
  send(operation: string, args: Record<string, unknown>): Promise<unknown>;
}
