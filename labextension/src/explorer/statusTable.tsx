/** One report: a line per server with its dot and label, and what concerns them all around it. */
import { Dot } from './dot';
import type { Host } from './host';
import type { Row, Rows } from './rows';
import { Line, Text, Told } from './said';
import { useShown } from './useShown';
import { useWords } from './words';

function Server({ row }: { row: Row }) {
  return (
    <li class="row" data-testid={`kandev-server-row-${row.name}`} data-status={row.status}>
      <Dot of={row.dot} />
      <Text class="name" of={row.name} />
      <span class="state">
        <Told class="label" of={row.label} />
        {row.details.map(detail => (
          <Told key={detail.key} class="detail" of={detail} />
        ))}
        {row.summary && <Told class="summary" of={row.summary} />}
      </span>
    </li>
  );
}

/** Says that nothing here is live. */
export function Saved() {
  const words = useWords();
  return (
    <span class="saved" title={words.say('saved_meaning')} data-testid="kandev-saved">
      {words.say('saved')}
    </span>
  );
}

function Heading({ rows, saved }: { rows: Rows; saved: boolean }) {
  return (
    <header class="heading">
      <Told class="title" of={rows.heading} />
      {saved && <Saved />}
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

/** The whole view. A click into it takes the focus, so that keys typed there stay there. */
export function StatusTable({ host }: { host: Host }) {
  const shown = useShown(host);
  const words = useWords();
  if ('sentence' in shown) return <p class="sentence">{shown.sentence}</p>;
  return (
    <section aria-label={words.of(shown.rows.heading)} tabIndex={-1}>
      <Report {...shown} />
    </section>
  );
}
