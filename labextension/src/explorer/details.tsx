/** Connection details, and the attempts that were superseded. */
import { Dot } from './dot';
import { Time } from './moment';
import { Text, Told } from './said';
import type { Earlier, Fact } from './shown';
import { useWords } from './words';

function Value({ of: { kind, value } }: { of: Fact }) {
  const { language } = useWords();
  if (kind === 'time' && value) return <Time of={value} />;
  const isCount = kind === 'count' && value !== '' && Number.isFinite(Number(value));
  return <Text class="code" of={isCount ? Number(value).toLocaleString(language) : value} />;
}

export function Facts({ of }: { of: Fact[] }) {
  return (
    <dl class="facts">
      {of.map(fact => (
        <div key={fact.label.key}>
          <dt>
            <Told of={fact.label} />
          </dt>
          <dd>
            <Value of={fact} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Attempt({ of }: { of: Earlier }) {
  const words = useWords();
  return (
    <li class="attempt">
      <p>
        <Told class="name" of={of.heading} /> <span class="saved">{words.say('historical')}</span>{' '}
        <span class="muted">
          <Time of={of.started_at} /> – {of.ended_at && <Time of={of.ended_at} />}
        </span>
      </p>
      <ul role="list">
        {of.rows.map(({ name, label, dot, tools }) => (
          <li key={name}>
            <Dot of={dot} /> <Text class="name" of={name} /> <Told of={label} />{' '}
            {tools !== null && <span class="muted">{words.count('tool_count', tools)}</span>}
          </li>
        ))}
      </ul>
    </li>
  );
}

export function Attempts({ of }: { of: Earlier[] }) {
  return (
    <ul role="list">
      {of.map(attempt => (
        <Attempt key={attempt.id} of={attempt} />
      ))}
    </ul>
  );
}
