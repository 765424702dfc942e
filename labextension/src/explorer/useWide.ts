/** Whether an element is wide, by its own box: a panel may be narrow in a wide window. */
import { type RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const WIDE = 640;

export function useWide<E extends HTMLElement>(): [RefObject<E | null>, boolean] {
  const box = useRef<E>(null);
  const [wide, told] = useState(true);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    // Nothing is known of an element that is not shown.
    const measure = (width: number) => width > 0 && told(width >= WIDE);
    measure(element.getBoundingClientRect().width);
    const observer = new ResizeObserver(entries => {
      for (const { contentRect } of entries) measure(contentRect.width);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [box, wide];
}
