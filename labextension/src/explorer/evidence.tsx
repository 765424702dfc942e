/** What is proven of a server, what was not observed, and what would settle it. */
import { Line, Told } from './said';
import type { Check, Detail } from './shown';
import { Time } from './moment';
import { useWords } from './words';

const SIGNS: Record<Check['state'], string> = { proven: '✓', open: '○', failed: '!' };

function Step({ of }: { of: Check }) {
  const words = useWords();
  return (
    <li class={`check ${of.state}`} data-testid={`kandev-evidence-${of.kind}`}>
      <span class="sign" aria-hidden="true">
        {SIGNS[of.state]}
      </span>
      <span>
        <Told of={of.label} /> <span class="muted">{words.say(`${of.state}`)}</span>{' '}
        {of.at && <Time of={of.at} />}
        {of.settle && <p class="muted">{words.say('settle', { settle: words.of(of.settle) })}</p>}
      </span>
    </li>
  );
}

export function Evidence({ detail: { checklist, explanation } }: { detail: Detail }) {
  return (
    <>
      <ul role="list">
        {checklist.map(check => (
          <Step key={check.kind} of={check} />
        ))}
      </ul>
      {explanation.map((line, place) => (
        <Line key={place} of={line} />
      ))}
    </>
  );
}
