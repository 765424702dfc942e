/** What is asked of the kernel: on its way, late, there, or refused. */
import { useEffect, useRef, useState } from 'preact/hooks';

import type { ExplorerHost } from './host';
import { visible } from './text';
import { useWords } from './words';

/** Milliseconds after which a kernel that has not answered is busy. */
export const PATIENCE = 1000;

/** Stands where something will be: a kernel that runs a cell answers only when that has ended. */
export function Waiting() {
  const words = useWords();
  const [busy, late] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => late(true), PATIENCE);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="muted" role="status">
      {words.say(busy ? 'busy' : 'loading')}
    </p>
  );
}

/** Says why there is nothing, marked in shape as well. */
export function Trouble({ of }: { of: string }) {
  return (
    <p class="trouble" role="alert">
      ! {visible(of)}
    </p>
  );
}

export type Reply<T> =
  { is: 'none' | 'waiting' } | { is: 'there'; of: T } | { is: 'refused'; why: string };

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the state of one request, and the function that sends it. */
export function useReply<T>(
  host: ExplorerHost
): [Reply<T>, (operation: string, args: Record<string, unknown>) => void] {
  const [reply, told] = useState<Reply<T>>({ is: 'none' });
  const gone = useRef(false);
  useEffect(() => () => void (gone.current = true), []);
  const ask = (operation: string, args: Record<string, unknown>) => {
    told({ is: 'waiting' });
    const tell = (state: Reply<T>) => gone.current || told(state);
    host.send(operation, args).then(
      of => tell({ is: 'there', of: of as T }),
      error => tell({ is: 'refused', why: reasonOf(error) })
    );
  };
  return [reply, ask];
}
