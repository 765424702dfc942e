/** One tool: what it is called, what it costs, what it says of itself, and what it takes. */
import { ArgumentTable } from './argumentTable';
import { Line, Lines, Text } from './said';
import type { Arguments, Tool } from './shown';
import { Bar } from './toolList';
import type { View } from './view';
import { useWords } from './words';

function Estimate({ tokens, all }: { tokens: number; all: number }) {
  const words = useWords();
  return (
    <p class="estimate">
      <span>{words.count('tokens', tokens)}</span>
      <Bar part={tokens} all={all} />
      <span class="muted">{words.say('share', { percent: Math.round((100 * tokens) / all) })}</span>
    </p>
  );
}

function Names({ of }: { of: Tool['names'] }) {
  const words = useWords();
  return (
    <ul class="names" role="list">
      {of.map(({ client, name }) => (
        <li key={client}>
          <span class="muted">{words.say('shown_as', { client })}</span>{' '}
          <Text class="code" of={name} />
        </li>
      ))}
    </ul>
  );
}

function Takes({ of }: { of: Arguments }) {
  const words = useWords();
  return (
    <>
      <h4>{words.say('arguments')}</h4>
      {of.state && <Line class="empty" of={of.state} />}
      {of.rows.length > 0 && <ArgumentTable rows={of.rows} label={words.say('arguments')} />}
      {of.branches.map(({ label, rows }) => (
        <section key={label.text}>
          <Line class="branch" of={label} />
          {rows.length > 0 && <ArgumentTable rows={rows} label={words.of(label)} />}
        </section>
      ))}
      {of.notes.map((note, place) => (
        <Line key={place} class="notice" of={note} />
      ))}
      {of.schema !== null && (
        <details data-testid="kandev-json">
          <summary>{words.say('json')}</summary>
          <Lines class="code json" of={of.schema} />
        </details>
      )}
    </>
  );
}

export function ToolPage({ tool, view }: { tool: Tool; view: View }) {
  const words = useWords();
  return (
    <article data-testid="kandev-tool-page">
      <h3>
        <Text of={tool.name} />
      </h3>
      {tool.tokens > 0 && <Estimate tokens={tool.tokens} all={view.tokens} />}
      {tool.names.length > 0 && <Names of={tool.names} />}
      {tool.description ? (
        <Lines class="description" of={tool.description} />
      ) : (
        <p class="empty">{words.say('no_description')}</p>
      )}
      <Takes of={tool.arguments} />
    </article>
  );
}
