/** A turn while it goes on: what the agent does now, its tool calls, and its last words. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Dot } from './dot';
import type { Dot as Colour } from './rows';
import { visible } from './text';
import type { ToolCall, Turn } from './turn';
import { useWords } from './words';

/** Calls `told` with each turn that the kernel tells of, until the returned function is called. */
export type Listen = (told: (turn: Turn) => void) => () => void;

const DOTS: Record<string, Colour> = { in_progress: 'amber', completed: 'green', failed: 'red' };

function Call({ of }: { of: ToolCall }) {
  const words = useWords();
  const state = `call.${of.status}`;
  return (
    <li class="row" data-testid="kandev-tool-call" data-status={of.status}>
      <Dot of={DOTS[of.status] ?? 'gray'} />
      <bdi class="name">{visible(of.name)}</bdi>
      <span class="state">{words.has(state) ? words.say(state) : visible(of.status)}</span>
    </li>
  );
}

/** Returns one line as it may be looked at; a tab stays one, and so does a DOS line. */
function line(text: string): string {
  return text.replace(/\r$/, '').split('\t').map(visible).join('\t');
}

/** The last words, a line each, so that a screen reader tells only those that are new. */
function Words({ turn }: { turn: Turn }) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [turn]);
  return (
    <div
      ref={box}
      class="words"
      role="log"
      aria-live="polite"
      aria-label={useWords().say('agent_says')}
      tabIndex={0}
      data-testid="kandev-turn-words"
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < 8;
      }}
    >
      {turn.text
        .replace(/\n$/, '')
        .split('\n')
        .map((text, place) => (
          <div key={turn.firstLine + place} dir="auto">
            {line(text)}
          </div>
        ))}
    </div>
  );
}

function Calls({ turn: { calls, count } }: { turn: Turn }) {
  const words = useWords();
  const earlier = count - calls.length;
  return (
    <>
      {earlier > 0 && <p class="note">{words.count('earlier_calls', earlier)}</p>}
      <ul class="rows" role="list" aria-label={words.say('calls')}>
        {calls.map(call => (
          <Call key={call.number} of={call} />
        ))}
      </ul>
    </>
  );
}

function Heading({ turn }: { turn: Turn }) {
  const words = useWords();
  return (
    <header class="heading">
      <bdi class="title">{words.say('turn', { name: turn.session })}</bdi>
      <span role="status" aria-live="polite" data-testid="kandev-turn-state">
        {words.say(turn.interrupted ? 'interrupted' : 'working')}
        {turn.count > 0 && ` · ${words.count('call_count', turn.count)}`}
      </span>
      <span class="note" aria-hidden="true">
        {words.say('seconds', { count: turn.seconds })}
      </span>
    </header>
  );
}

/** The whole view: nothing until the kernel tells of a turn, as in a notebook that was saved. */
export function TurnView({ listen }: { listen: Listen }) {
  const [turn, told] = useState<Turn | null>(null);
  const words = useWords();
  useLayoutEffect(() => listen(told), [listen]);
  if (!turn) return null;
  return (
    <section class="turn" aria-label={words.say('turn', { name: turn.session })} tabIndex={-1}>
      <Heading turn={turn} />
      {turn.calls.length > 0 && <Calls turn={turn} />}
      {turn.text && <Words turn={turn} />}
    </section>
  );
}
