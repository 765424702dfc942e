/** The tools of one server: name and estimate, to be filtered and sorted. */
import { type Order, openTool } from './navigation';
import { Text, Told } from './said';
import type { Tool } from './shown';
import type { Stage } from './stage';
import { useWords } from './words';

const ORDERS: Order[] = ['name', 'tokens'];

/** How much of `all` something is; the number stands beside it. */
export function Bar({ part, all }: { part: number; all: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <span style={{ inlineSize: `${all > 0 ? (100 * part) / all : 0}%` }} />
    </span>
  );
}

function Row({ tool, stage }: { tool: Tool; stage: Stage }) {
  const words = useWords();
  return (
    <li>
      <button
        class="tool"
        data-testid={`kandev-tool-row-${tool.name}`}
        onClick={() => stage.go(openTool(stage.at, stage.view.place, tool.name))}
      >
        <Text class="name" of={tool.name} />
        {tool.tokens > 0 && (
          <>
            <span class="number">{words.count('tokens', tool.tokens)}</span>
            <Bar part={tool.tokens} all={stage.view.most} />
          </>
        )}
      </button>
    </li>
  );
}

function Controls({ stage: { at, go } }: { stage: Stage }) {
  const words = useWords();
  return (
    <div class="controls">
      <input
        type="search"
        data-testid="kandev-filter"
        aria-label={words.say('filter')}
        placeholder={words.say('filter')}
        value={at.filter}
        onInput={({ currentTarget: { value } }) => go({ ...at, focus: '', filter: value })}
      />
      <label>
        <span class="muted">{words.say('sort')}</span>{' '}
        <select
          data-testid="kandev-sort"
          value={at.order}
          onChange={({ currentTarget: { value } }) =>
            go({ ...at, focus: '', order: value as Order })
          }
        >
          {ORDERS.map(order => (
            <option key={order} value={order}>
              {words.say(`by.${order}`)}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Total({ stage: { view } }: { stage: Stage }) {
  const words = useWords();
  const { all, tokens, estimate } = view;
  const shown = view.tools.length;
  return (
    <p class="muted" role="status" data-testid="kandev-total">
      {shown === all
        ? words.count('tool_count', all)
        : words.say('tool_count_of', { count: shown, all })}
      {tokens > 0 && ` · ${words.count('tokens', tokens)}`}
      {tokens > 0 && estimate && (
        <>
          {' · '}
          <Told of={estimate} />
        </>
      )}
    </p>
  );
}

export function ToolList({ stage }: { stage: Stage }) {
  const words = useWords();
  const { tools } = stage.view;
  return (
    <>
      <Controls stage={stage} />
      <Total stage={stage} />
      {tools.length === 0 && <p class="empty">{words.say('no_match')}</p>}
      <ul class="tools" role="list" aria-label={words.say('tools')}>
        {tools.map(tool => (
          <Row key={tool.name} tool={tool} stage={stage} />
        ))}
      </ul>
    </>
  );
}
