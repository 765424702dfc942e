/** A turn while it goes on: what the agent does now, its tool calls, and its last words. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Dot } from './dot';
import type { Dot as Colour } from './rows';
import { visible } from './text';
import type { ToolCall, Turn } from './turn';
import { words } from './words';

/** Calls `told` with each turn that the kernel tells of, until the returned function is called. */
export type Listen = (told: (turn: Turn) => void) => () => void;

const DOTS: Record<string, Colour> = { in_progress: 'amber', completed: 'green', failed: 'red' };

function Call({ of }: { of: ToolCall }) {
  return (
    <li class="row" data-testid="kandev-tool-call" data-status={of.status}>
      <Dot of={DOTS[of.status] ?? 'gray'} />
      <bdi class="name">{visible(of.name)}</bdi>
      <span class="state">{words.toolCall[of.status] ?? visible(of.status)}</span>
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
      aria-label={words.agentSays}
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
  const earlier = count - calls.length;
  return (
    <>
      {earlier > 0 && <p class="note">{words.earlierToolCalls(earlier)}</p>}
      <ul class="rows" role="list" aria-label={words.toolCalls}>
        {calls.map(call => (
          <Call key={call.number} of={call} />
        ))}
      </ul>
    </>
  );
}

function Heading({ turn }: { turn: Turn }) {
  return (
    <header class="heading">
      <bdi class="title">{words.session(visible(turn.session))}</bdi>
      <span role="status" aria-live="polite" data-testid="kandev-turn-state">
        {turn.interrupted ? words.interrupted : words.working}
        {turn.count > 0 && ` · ${words.toolCallCount(turn.count)}`}
      </span>
      <span class="note" aria-hidden="true">
        {words.seconds(turn.seconds)}
      </span>
    </header>
  );
}

/** The whole view: nothing until the kernel tells of a turn, as in a notebook that was saved. */
export function TurnView({ listen }: { listen: Listen }) {
  const [turn, told] = useState<Turn | null>(null);
  useLayoutEffect(() => listen(told), [listen]);
  if (!turn) return null;
  return (
    <section class="turn" aria-label={words.session(visible(turn.session))} tabIndex={-1}>
      <Heading turn={turn} />
      {turn.calls.length > 0 && <Calls turn={turn} />}
      {turn.text && <Words turn={turn} />}
    </section>
  );
}
