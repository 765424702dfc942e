/** The arguments of a tool, as the kernel read them from its schema; what is nested is closed. */
import { Line, Lines, Text } from './said';
import type { Argument } from './shown';
import { useWords } from './words';

function Values({ of }: { of: string[] }) {
  return (
    <>
      {of.map((value, place) => (
        <Text key={place} class="code value" of={value} />
      ))}
    </>
  );
}

/** What there is to read about an argument: its description, its limits, and what to know of it. */
function About({ of }: { of: Argument }) {
  return (
    <>
      {of.description && <Lines of={of.description} />}
      {of.constraints.length > 0 && (
        <p class="muted">
          <Text of={of.constraints.join(' · ')} />
        </p>
      )}
      {of.note && <Line class="muted" of={of.note} />}
    </>
  );
}

function Cells({ of, shows }: { of: Argument; shows: Columns }) {
  const words = useWords();
  return (
    <tr role="row" data-testid={`kandev-argument-${of.name}`}>
      <th role="rowheader" scope="row">
        <Text class="code" of={of.name} />
      </th>
      <td role="cell">
        <Text class="code" of={of.type} />
      </td>
      <td role="cell">{words.say(of.required ? 'required' : 'optional')}</td>
      {shows.default && (
        <td role="cell" data-label={words.say('default')}>
          {of.default !== null && <Text class="code" of={of.default} />}
        </td>
      )}
      {shows.values && (
        <td role="cell" data-label={words.say('values')}>
          <Values of={of.values} />
        </td>
      )}
      {shows.about && (
        <td role="cell">
          <About of={of} />
        </td>
      )}
    </tr>
  );
}

function Inside({ of, columns }: { of: Argument; columns: number }) {
  const words = useWords();
  const title = words.count('inside', of.children.length, { name: of.name });
  return (
    <tr role="row">
      <td role="cell" class="inside" colSpan={columns}>
        <details>
          <summary>{title}</summary>
          <ArgumentTable rows={of.children} label={title} />
        </details>
      </td>
    </tr>
  );
}

/** The columns that say something of any argument. */
type Columns = Record<'default' | 'values' | 'about', boolean>;

function columnsOf(rows: Argument[]): Columns {
  return {
    default: rows.some(row => row.default !== null),
    values: rows.some(row => row.values.length > 0),
    about: rows.some(row => row.description || row.constraints.length > 0 || row.note)
  };
}

// The roles are written out: a table that is drawn as blocks, as on a phone, would lose them.
export function ArgumentTable({ rows, label }: { rows: Argument[]; label: string }) {
  const words = useWords();
  const shows = columnsOf(rows);
  const optional = (['default', 'values', 'about'] as const).filter(name => shows[name]);
  const headings = [
    'argument',
    'type',
    'need',
    ...optional.map(name => (name === 'about' ? 'description' : name))
  ];
  return (
    <table role="table" aria-label={label} class="arguments">
      <thead role="rowgroup">
        <tr role="row">
          {headings.map(name => (
            <th key={name} role="columnheader" scope="col">
              {words.say(`${name}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row, place) => [
          <Cells key={place} of={row} shows={shows} />,
          row.children.length > 0 && (
            <Inside key={`${place}-inside`} of={row} columns={headings.length} />
          )
        ])}
      </tbody>
    </table>
  );
}
