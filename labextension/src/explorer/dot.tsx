/** The dot before a name. It differs in shape as well as in colour; the label beside it says the same. */
import type { Dot as Colour } from './rows';

const SHAPES: Record<Colour, string> = {
  green: 'M5 0a5 5 0 1 1 0 10a5 5 0 1 1 0-10z',
  amber: 'M5 0a5 5 0 1 1 0 10a5 5 0 1 1 0-10zm0 1.5v7a3.5 3.5 0 1 0 0-7z',
  red: 'M5 0a5 5 0 1 1 0 10a5 5 0 1 1 0-10zM2.2 3.3L3.9 5L2.2 6.7L3.3 7.8L5 6.1L6.7 7.8L7.8 6.7L6.1 5L7.8 3.3L6.7 2.2L5 3.9L3.3 2.2z',
  gray: 'M5 0a5 5 0 1 1 0 10a5 5 0 1 1 0-10zm0 1.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7z'
};

export function Dot({ of }: { of: Colour }) {
  return (
    <svg class={`dot ${of}`} viewBox="0 0 10 10" aria-hidden="true">
      <path d={SHAPES[of]} fill="currentColor" fill-rule="evenodd" />
    </svg>
  );
}
