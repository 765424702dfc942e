/** One report: a line per server with its dot and label, and what concerns them all around it. */
import { useLayoutEffect, useReducer } from 'preact/hooks';

import { Dot } from './dot';
import type { Host, Shown } from './host';
import type { Message, Row, Rows } from './rows';
import { visible } from './text';
import { words } from './words';

/** Text whose direction stays its own, so that a name cannot reorder the words around it. */
function Text({ of, class: name }: { of: string; class: string }) {
  return <bdi class={name}>{visible(of)}</bdi>;
}

function Line({ of, class: name }: { of: Message; class: string }) {
  return (
    <p class={name}>
      <bdi>{visible(of.text)}</bdi>
    </p>
  );
}

function Server({ row }: { row: Row }) {
  return (
    <li class="row" data-testid={`kandev-server-row-${row.name}`} data-status={row.status}>
      <Dot of={row.dot} />
      <Text class="name" of={row.name} />
      <span class="state">
        <Text class="label" of={row.label.text} />
        {row.details.map(detail => (
          <Text key={detail.key} class="detail" of={detail.text} />
        ))}
        {row.summary && <Text class="summary" of={row.summary.text} />}
      </span>
    </li>
  );
}

function Heading({ rows, saved }: { rows: Rows; saved: boolean }) {
  return (
    <header class="heading">
      <Text class="title" of={rows.heading.text} />
      {saved && (
        <span class="saved" title={words.savedMeaning} data-testid="kandev-saved">
          {words.saved}
        </span>
      )}
    </header>
  );
}

function Report({ rows, saved }: { rows: Rows; saved: boolean }) {
  return (
    <>
      <Heading rows={rows} saved={saved} />
      {rows.banner && (
        <div data-testid="kandev-session-error">
          <Line class="banner" of={rows.banner} />
        </div>
      )}
      {rows.empty && <Line class="empty" of={rows.empty} />}
      {rows.rows.length > 0 && (
        <ul class="rows" role="list">
          {rows.rows.map(row => (
            <Server key={row.name} row={row} />
          ))}
        </ul>
      )}
      {rows.notes.map(note => (
        <Line key={note.key} class="note" of={note} />
      ))}
    </>
  );
}

function useShown(host: Host): Shown {
  const [, changed] = useReducer((count: number) => count + 1, 0);
  // A layout effect: no change can come between the first drawing and the subscription.
  useLayoutEffect(() => host.subscribe(() => changed(undefined)), [host]);
  return host.get();
}

/** The whole view. A click into it takes the focus, so that keys typed there stay there. */
export function StatusTable({ host }: { host: Host }) {
  const shown = useShown(host);
  if ('sentence' in shown) return <p class="sentence">{shown.sentence}</p>;
  return (
    <section aria-label={visible(shown.rows.heading.text)} tabIndex={-1}>
      <Report {...shown} />
    </section>
  );
}
