/** The report that a notebook keeps: `application/vnd.kandev-nb.report.v1+json`. */
import type { Shown } from './host';
import { readRows } from './rows';
import { english } from './words';

export const MIME_TYPE = 'application/vnd.kandev-nb.report.v1+json';

const VERSION = 1;

function version(bundle: unknown): unknown {
  return typeof bundle === 'object' && bundle !== null && 'version' in bundle
    ? bundle.version
    : undefined;
}

/** Returns what is shown of a saved bundle; anything at all may be handed in. */
export function readReport(bundle: unknown): Shown {
  const found = version(bundle);
  if (typeof found === 'number' && found > VERSION) return { sentence: english.say('newer') };
  const rows = found === VERSION ? readRows((bundle as { rows?: unknown }).rows) : null;
  return rows ? { rows, saved: true } : { sentence: english.say('unreadable') };
}
