import { describe, expect, it } from 'vitest';

import { readReport } from '../src/explorer/report';
import { readRows } from '../src/explorer/rows';
import { english } from '../src/explorer/words';
import { report, row } from './sample';

const UNREADABLE = { sentence: english.say('unreadable') };

describe('UI: a report that a notebook holds', () => {
  it('is shown as it was saved', () => {
    const rows = report();
    expect(readReport({ version: 1, rows, report: {} })).toEqual({ rows, saved: true });
  });

  it('says that it comes from a newer version', () => {
    expect(readReport({ version: 2, rows: { of: 'another shape' } })).toEqual({
      sentence: english.say('newer')
    });
  });

  const rows = report();
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['text', 'report'],
    ['a list', [1]],
    ['no version', { rows }],
    ['a version that is text', { version: '1', rows }],
    ['an older version than any', { version: 0, rows }],
    ['no rows', { version: 1 }],
    ['rows that are null', { version: 1, rows: null }],
    ['a heading that is text', { version: 1, rows: { ...rows, heading: 'x' } }],
    ['notes that are no list', { version: 1, rows: { ...rows, notes: {} } }],
    ['servers that are no list', { version: 1, rows: { ...rows, rows: 'kandev' } }],
    ['a server without a name', { version: 1, rows: { ...rows, rows: [{ status: 'active' }] } }],
    ['a label without text', { version: 1, rows: { ...rows, rows: [{ ...row('a'), label: {} }] } }]
  ])('says that it cannot be read: %s', (_, bundle) => {
    expect(readReport(bundle)).toEqual(UNREADABLE);
  });

  it('shows a colour of a later version as the one that claims least', () => {
    const read = readRows({ ...report(), rows: [{ ...row('a'), dot: 'blue' }] });
    expect(read!.rows[0]!.dot).toBe('gray');
  });

  it('ignores fields of a later version', () => {
    expect(readRows({ ...report(), more: 1 })).toEqual(report());
  });
});
