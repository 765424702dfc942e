/** A moment on the reader's clock; the exact one is behind it. */
import { clock } from './time';
import { useWords } from './words';

export function Time({ of }: { of: string }) {
  return (
    <time dateTime={of} title={of} class="muted">
      {clock(of, useWords().language)}
    </time>
  );
}
