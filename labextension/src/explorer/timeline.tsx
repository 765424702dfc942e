/** A server's evidence as a picture: a lane an attempt, all on one scale; the table says the same. */
import { useRef, useState } from 'preact/hooks';

import { Time } from './moment';
import { places } from './places';
import { Text, Told } from './said';
import type { Lane, Mark } from './shown';
import { clock, rounded } from './time';
import { type Words, useWords } from './words';

/** A lane and a mark in it. */
type Spot = readonly [lane: number, mark: number];

const STEPS: Record<string, Spot> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  Home: [0, -Infinity],
  End: [0, Infinity]
};

const inside = (at: number, count: number) => Math.max(0, Math.min(count - 1, at));

/** Returns where a key leads from a mark; null for other keys. */
export function step(lanes: Lane[], [lane, mark]: Spot, key: string): Spot | null {
  const by = STEPS[key];
  if (!by) return null;
  const next = inside(lane + by[0], lanes.length);
  return [next, inside(mark + by[1], lanes[next]!.marks.length)];
}

function sentence(mark: Mark, number: number, words: Words): string {
  const facts = [
    words.of(mark.label),
    clock(mark.at, words.language),
    words.say('seconds', { count: rounded(mark.seconds) }),
    words.of(mark.provenance),
    mark.text
  ];
  return `${number}. ${facts.filter(Boolean).join(' · ')}`;
}

interface TrackProps {
  lane: Lane;
  longest: number;
  /** The mark that Tab leads to. */
  current: number;
  choose(mark: number): void;
}

function Track({ lane, longest, current, choose }: TrackProps) {
  const words = useWords();
  const at = places(
    lane.marks.map(mark => mark.seconds),
    longest
  );
  const ends = longest > 0 ? Math.min(1, lane.seconds / longest) : 1;
  return (
    <div class="track" role="group" aria-label={words.of(lane.heading)}>
      <span class="span" style={{ inlineSize: `${Math.max(ends, at.at(-1) ?? 0) * 100}%` }} />
      {lane.marks.map((mark, place) => (
        <button
          key={place}
          class={`mark ${mark.kind}`}
          style={{ insetInlineStart: `${at[place]! * 100}%` }}
          tabIndex={place === current ? 0 : -1}
          aria-label={sentence(mark, place + 1, words)}
          data-testid={`kandev-mark-${mark.kind}`}
          onFocus={() => choose(place)}
          onPointerEnter={() => choose(place)}
        >
          {place + 1}
        </button>
      ))}
    </div>
  );
}

function LaneTable({ lane }: { lane: Lane }) {
  const words = useWords();
  const headings = ['event', 'time', 'after', 'provenance'];
  return (
    <table class="marks">
      <caption>
        <Told of={lane.heading} />
      </caption>
      <thead>
        <tr>
          {headings.map(name => (
            <th key={name} scope="col">
              {words.say(`${name}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lane.marks.map((mark, place) => (
          <tr key={place}>
            <th scope="row">
              {place + 1}. <Told of={mark.label} />{' '}
              {mark.text && <Text class="muted" of={mark.text} />}
            </th>
            <td>
              <Time of={mark.at} />
            </td>
            <td>{words.say('seconds', { count: rounded(mark.seconds) })}</td>
            <td>
              <Told of={mark.provenance} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function LaneHeading({ lane }: { lane: Lane }) {
  const words = useWords();
  return (
    <p>
      <Told of={lane.heading} />{' '}
      {lane.historical && <span class="saved">{words.say('historical')}</span>}{' '}
      <span class="muted">
        <Time of={lane.started_at} /> · {words.say('seconds', { count: rounded(lane.seconds) })}
      </span>
    </p>
  );
}

export function Timeline({ lanes }: { lanes: Lane[] }) {
  const words = useWords();
  const box = useRef<HTMLDivElement>(null);
  const [[lane, mark], choose] = useState<Spot>([0, 0]);
  const longest = Math.max(0, ...lanes.map(each => each.seconds));
  const chosen = lanes[lane]?.marks[mark];
  const move = (event: KeyboardEvent) => {
    const next = step(lanes, [lane, mark], event.key);
    if (!next) return;
    event.preventDefault();
    const track = box.current!.querySelectorAll('.track')[next[0]]!;
    track.querySelectorAll<HTMLElement>('.mark')[next[1]]?.focus();
  };
  return (
    <div ref={box} class="timeline" data-testid="kandev-timeline" onKeyDown={move}>
      {lanes.map((each, place) => (
        <div key={each.attempt}>
          <LaneHeading lane={each} />
          <Track
            lane={each}
            longest={longest}
            current={place === lane ? mark : 0}
            choose={at => choose([place, at])}
          />
        </div>
      ))}
      <p class="fact" data-testid="kandev-fact">
        {chosen && <Text of={sentence(chosen, mark + 1, words)} />}
      </p>
      <p class="muted">{words.say('timeline_hint')}</p>
      <details>
        <summary>{words.say('as_table')}</summary>
        {lanes.map(each => (
          <LaneTable key={each.attempt} lane={each} />
        ))}
      </details>
    </div>
  );
}
