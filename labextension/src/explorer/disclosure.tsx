/** A part of a page that is closed until it is wanted; it stays as it was left. */
import type { ComponentChildren } from 'preact';

import { toggle } from './navigation';
import type { Stage } from './stage';

interface Props {
  name: string;
  title: string;
  stage: Stage;
  children: ComponentChildren;
}

export function Disclosure({ name, title, stage, children }: Props) {
  const isOpen = stage.at.opened.includes(name);
  return (
    <details
      open={isOpen}
      data-testid={`kandev-open-${name}`}
      onToggle={({ currentTarget: { open } }) => stage.go(toggle(stage.at, name, open))}
    >
      <summary>{title}</summary>
      {isOpen && children}
    </details>
  );
}
