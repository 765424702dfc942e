import { act } from 'preact/test-utils';
import { describe, expect, it } from 'vitest';

import { places } from '../src/explorer/places';
import { step } from '../src/explorer/timeline';
import { explore, type ExplorerPage } from './explorerPage';
import { detail } from './scene';

describe('UI/Explorer: the places of marks', () => {
  it('follow time where there is room', () => {
    expect(places([0, 10, 40], 40)).toEqual([0, 0.25, 1]);
  });

  it('stand apart where they would cover each other, in their order and inside the lane', () => {
    const close = places([0, 0.01, 0.02, 39.9, 40, 40], 40);
    expect(close).toEqual([...close].sort((a, b) => a - b));
    expect(Math.min(...close.slice(1).map((at, before) => at - close[before]!))).toBeGreaterThan(
      0.07
    );
    expect(close[0]).toBe(0);
    expect(close.at(-1)).toBe(1);
  });

  it.each([[64], [1], [0]])('are inside the lane for %i marks at one moment', count => {
    const at = places(Array<number>(count).fill(5), 5);
    expect(at).toHaveLength(count);
    expect(at.every(place => place >= 0 && place <= 1)).toBe(true);
    expect(new Set(at).size).toBe(count);
  });

  it('are at the beginning when nothing took any time', () => {
    expect(places([0], 0)).toEqual([0]);
    expect(places([-1], 5)).toEqual([0]);
  });
});

describe('UI/Explorer: keys in the timeline', () => {
  const { lanes } = detail();

  it.each([
    ['ArrowRight', [0, 1], [0, 2]],
    ['ArrowRight', [0, 4], [0, 4]],
    ['ArrowLeft', [0, 0], [0, 0]],
    ['End', [0, 0], [0, 4]],
    ['Home', [1, 3], [1, 0]],
    ['ArrowDown', [0, 4], [1, 3]],
    ['ArrowUp', [0, 2], [0, 2]]
  ] as const)('%s at %j leads to %j', (key, from, to) => {
    expect(step(lanes, from, key)).toEqual(to);
  });

  it('are left alone when they lead nowhere', () => {
    expect(step(lanes, [0, 0], 'a')).toBeNull();
    expect(step(lanes, [0, 0], 'Enter')).toBeNull();
  });
});

describe('UI/Explorer: the timeline', () => {
  async function opened(): Promise<ExplorerPage> {
    const page = await explore();
    await page.click('kandev-open-timeline');
    return page;
  }

  it('has a lane an attempt on one scale, and says which is historical', async () => {
    const page = await opened();
    expect(page.all('.track').map(track => track.getAttribute('aria-label'))).toEqual([
      'Attempt 2',
      'Attempt 1'
    ]);
    expect(page.all('.track .span').map(({ style }) => style.inlineSize)).toEqual([
      '100%',
      '55.00000000000001%'
    ]);
    expect(page.all('.timeline .saved').map(({ textContent }) => textContent)).toEqual([
      'historical'
    ]);
  });

  it('tells the fact of the mark that has the focus, which one stop of Tab a lane leads to', async () => {
    const page = await opened();
    const last = page.find('kandev-mark-tool_call_observed')!;
    act(() => last.focus());

    expect(page.text('kandev-fact')).toMatch(
      /^5\. Used · .* · 31.2 s · seen by our endpoint · 2 calls$/
    );
    expect(last.getAttribute('aria-label')).toBe(page.text('kandev-fact'));
    const stops = page.all('.mark').filter(({ tabIndex }) => tabIndex === 0);
    expect(stops.map(({ textContent }) => textContent)).toEqual(['5', '1']);
  });

  it('goes from mark to mark by keys, and from attempt to attempt', async () => {
    const page = await opened();
    const press = (key: string) => {
      const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
      act(() => void page.root.activeElement!.dispatchEvent(event));
    };
    act(() => page.all('.mark')[0]!.focus());
    press('ArrowRight');
    expect(page.text('kandev-fact')).toMatch(/^2\. Delivered/);
    press('ArrowDown');
    press('End');
    expect(page.focused()).toBe('kandev-mark-connection_closed');
  });

  it('says the same in its table', async () => {
    const page = await opened();
    const rows = page.all('.timeline tbody tr').map(({ textContent }) => textContent!);
    expect(rows).toHaveLength(9);
    expect(rows[3]).toMatch(/^4\. Tools loaded 6 tools.*0.5 sseen by our endpoint$/);
  });
});
