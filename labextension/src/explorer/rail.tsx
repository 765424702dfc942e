/** The servers: the rail of a wide explorer, the first page of a narrow one. */
import { Dot } from './dot';
import { openTools } from './navigation';
import type { Row } from './rows';
import { Text, Told } from './said';
import type { Stage } from './stage';
import { useWords } from './words';

function Server({ row, stage }: { row: Row; stage: Stage }) {
  const words = useWords();
  const isSelected = row === stage.view.row;
  const choose = () => {
    stage.host.select({ server: row.name });
    stage.go(openTools(stage.at));
  };
  return (
    <li>
      <button
        class="server"
        data-testid={`kandev-server-row-${row.name}`}
        data-status={row.status}
        aria-current={isSelected && stage.view.wide ? 'true' : undefined}
        onClick={choose}
      >
        <Dot of={row.dot} />
        <span>
          <Text class="name" of={row.name} />
          <Told class="label" of={row.label} />
          {row.tokens > 0 && <span class="muted">{words.count('tokens', row.tokens)}</span>}
        </span>
      </button>
    </li>
  );
}

export function Rail({ stage }: { stage: Stage }) {
  return (
    <nav class="rail" aria-label={useWords().say('servers')} data-testid="kandev-rail">
      <ul role="list">
        {stage.scene.rows.rows.map(row => (
          <Server key={row.name} row={row} stage={stage} />
        ))}
      </ul>
    </nav>
  );
}
