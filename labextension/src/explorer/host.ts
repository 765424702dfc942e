/** The one seam between a view and where it stands: a cell, a panel, or a saved notebook. */
import type { Rows } from './rows';

/** What there is to show: rows, or a sentence that says why there are none. */
export type Shown = { rows: Rows; saved: boolean } | { sentence: string };

export interface Host {
  /** The state of this moment. */
  get(): Shown;
  /** Calls `changed` after each change, until the returned function is called. */
  subscribe(changed: () => void): () => void;
  /** Sends a request to the kernel; a host without one drops it. */
  send(request: Record<string, unknown>): void;
}
