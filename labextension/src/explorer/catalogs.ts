/** The catalogs that a page holds: each is asked for once, when a page first needs it. */
import { useLayoutEffect, useState } from 'preact/hooks';

import type { ExplorerHost } from './host';
import type { Row } from './rows';
import type { Catalog } from './shown';
import { placeOf } from './view';
import { reasonOf } from './waiting';

/** The most catalogs that are held; a revision is a hash of what is in it. */
export const HELD = 8;

/** Returns what is held with one more: the last ones stay. */
export function kept(held: ReadonlyMap<string, Catalog>, key: string, catalog: Catalog) {
  const others = [...held].filter(([each]) => each !== key);
  return new Map([...others, [key, catalog] as const].slice(-HELD));
}

/** Returns the catalog of `key`, else the last of the same server, which `place` begins. */
export function found(held: ReadonlyMap<string, Catalog>, place: string, key: string) {
  const last = [...held].filter(([each]) => each.startsWith(place)).at(-1);
  return held.get(key) ?? last?.[1] ?? null;
}

export interface Shelf {
  catalog: Catalog | null;
  /** The catalog is the one that the row names. */
  isCurrent: boolean;
  why: string;
}

export function useCatalog(host: ExplorerHost, session: string, row: Row | null): Shelf {
  const [held, hold] = useState<ReadonlyMap<string, Catalog>>(new Map());
  const [refused, refuse] = useState({ key: '', why: '' });
  const [server, revision] = [row?.name ?? '', row?.catalog ?? ''];
  const place = `${placeOf(session, row)}\n`;
  const key = place + revision;
  const isCurrent = !revision || held.has(key);
  useLayoutEffect(() => {
    if (isCurrent) return;
    host.send('catalog', { session, server, revision }).then(
      reply => hold(before => kept(before, key, reply as Catalog)),
      error => refuse({ key, why: reasonOf(error) })
    );
  }, [host, key]);
  const catalog = revision ? found(held, place, key) : null;
  return { catalog, isCurrent, why: refused.key === key && !isCurrent ? refused.why : '' };
}
