/** Where the keyboard is: moved by the reader only, and never lost with what a live update removes. */
import { type RefObject } from 'preact';
import { useEffect, useLayoutEffect } from 'preact/hooks';

import { type Navigation, PAGE } from './navigation';

type Box = RefObject<HTMLElement | null>;

function find(box: Box, testId: string): HTMLElement | undefined {
  const all = box.current?.querySelectorAll<HTMLElement>('[data-testid]') ?? [];
  return [...all].find(({ dataset }) => dataset['testid'] === testId);
}

/** Gives the focus to what the last move asks for, once. */
function useMoves(box: Box, at: Navigation): void {
  useLayoutEffect(() => {
    if (at.focus) (find(box, at.focus) ?? find(box, PAGE))?.focus({ preventScroll: true });
  }, [at]);
}

/** Keeps the focus in the page when its element goes: the notebook would take the next key. */
function useRescue(box: Box): void {
  useEffect(() => {
    const element = box.current!;
    let last: Element | null = null;
    const note = ({ target }: FocusEvent) => (last = target as Element);
    const observer = new MutationObserver(() => {
      if (!last || last.isConnected || document.activeElement !== document.body) return;
      last = null;
      find(box, PAGE)?.focus({ preventScroll: true });
    });
    element.addEventListener('focusin', note);
    observer.observe(element, { childList: true, subtree: true });
    return () => {
      element.removeEventListener('focusin', note);
      observer.disconnect();
    };
  }, []);
}

export function useFocus(box: Box, at: Navigation): void {
  useMoves(box, at);
  useRescue(box);
}
