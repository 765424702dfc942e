/** Text on the page: its direction stays its own, so that a name cannot reorder the words around it. */
import type { Message } from './rows';
import { visible } from './text';
import { useWords } from './words';

/** A name or a description, as its provider chose it. */
export function Text({ of, class: name }: { of: string; class?: string }) {
  return <bdi class={name}>{visible(of)}</bdi>;
}

/** What the kernel says. */
export function Told({ of, class: name }: { of: Message; class?: string }) {
  return <bdi class={name}>{useWords().of(of)}</bdi>;
}

/** What the kernel says, as a line of its own. */
export function Line({ of, class: name }: { of: Message; class?: string }) {
  return (
    <p class={name}>
      <Told of={of} />
    </p>
  );
}

/** Text of several lines: their breaks stay, and each has its own direction. */
export function Lines({ of, class: name }: { of: string; class?: string }) {
  return (
    <div class={name}>
      {of.split(/\r?\n/).map((line, place) => (
        <div key={place} dir="auto">
          {line.split('\t').map(visible).join('\t') || '\u00a0'}
        </div>
      ))}
    </div>
  );
}
