/** One page of the explorer: the way back, the server that it is of, and the one thing that scrolls. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import { Dot } from './dot';
import { back, PAGE } from './navigation';
import type { Row } from './rows';
import { Text, Told } from './said';
import type { Stage } from './stage';
import { visible } from './text';
import { useWords } from './words';

function Back({ stage: { view, at, go } }: { stage: Stage }) {
  const words = useWords();
  if (!view.back) return null;
  return (
    <button
      class="back"
      data-testid="kandev-back"
      onClick={() => go(back(at, view.page, view.row?.name ?? ''))}
    >
      <span class="arrow" aria-hidden="true">
        ←
      </span>{' '}
      {words.say(`back.${view.back}`)}
    </button>
  );
}

/** What is known of the server; it stands above its tools, a tool, and a test of it alike. */
function Head({ row }: { row: Row }) {
  return (
    <div class="head" data-testid="kandev-head" data-status={row.status}>
      <Dot of={row.dot} />
      <h2>
        <Text of={row.name} />
      </h2>
      <Told class="label" of={row.label} />
      {row.details.map(detail => (
        <Told key={detail.key} class="muted" of={detail} />
      ))}
      {row.summary && <Told class="summary" of={row.summary} />}
    </div>
  );
}

interface PageProps {
  stage: Stage;
  /** How far each page was scrolled when it was left. */
  offsets: Map<string, number>;
  children: ComponentChildren;
}

export function Page({ stage, offsets, children }: PageProps) {
  const { page, place, row } = stage.view;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current!;
    // A tool is read from its beginning; a list goes on where it was left.
    const name = `${page}\n${place}`;
    if (page === 'tools' || page === 'servers') element.scrollTop = offsets.get(name) ?? 0;
    return () => void offsets.set(name, element.scrollTop);
  }, []);
  return (
    <div class="page">
      <Back stage={stage} />
      {row && page !== 'servers' && page !== 'asked' && <Head row={row} />}
      <div
        ref={box}
        class="body"
        tabIndex={0}
        data-testid={PAGE}
        role="group"
        aria-label={visible(row?.name ?? '')}
      >
        {children}
      </div>
    </div>
  );
}
