/**
 * A button that does something which cannot be taken back: a stray Enter does not press it. It stays
 * where the focus is while it is of no use, for a button that is disabled would lose it.
 */
import type { ComponentChildren } from 'preact';

interface Props {
  onClick: () => void;
  disabled?: boolean;
  testId: string;
  children: ComponentChildren;
}

export function Confirm({ onClick, disabled = false, testId, children }: Props) {
  return (
    <button
      class="confirm"
      aria-disabled={disabled}
      data-testid={testId}
      onKeyDown={event => event.key === 'Enter' && event.preventDefault()}
      onClick={() => disabled || onClick()}
    >
      {children}
    </button>
  );
}
