/** Draws a view again after each change of its host. */
import { useLayoutEffect, useReducer } from 'preact/hooks';

import type { Host } from './host';

export function useShown<S>(host: Host<S>): S {
  const [, changed] = useReducer((count: number) => count + 1, 0);
  // A layout effect: no change can come between the first drawing and the subscription.
  useLayoutEffect(() => host.subscribe(() => changed(undefined)), [host]);
  return host.get();
}
