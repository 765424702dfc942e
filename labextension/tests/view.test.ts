import { describe, expect, it } from 'vitest';

import { openAction, openAsked, openTool, openTools, START } from '../src/explorer/navigation';
import { matching, placeOf, selectedRow, sorted, viewOf } from '../src/explorer/view';
import { message, report, row } from './sample';
import { CATALOGS, detail, ESTIMATE, ROWS, scene, tool } from './scene';

const CATALOG = { server: 'kandev', revision: 'r1', tools: CATALOGS['r1']! };
const AT = placeOf('s-1', ROWS[0]!);
const names = (tools: readonly { name: string }[]) => tools.map(({ name }) => name);

describe('UI/Explorer: the selected server', () => {
  const [files, kandev] = [row('files'), row('kandev')];

  it.each([
    ['the one that was chosen', [kandev, files], 'files', 'files'],
    ['kandev before anybody chose', [files, kandev], '', 'kandev'],
    ['kandev when the chosen one has vanished', [files, kandev], 'gone', 'kandev'],
    ['the first where there is no kandev', [files, row('other')], 'gone', 'files'],
    ['none where there is none', [], 'gone', undefined]
  ])('is %s', (_, rows, chosen, expected) => {
    expect(selectedRow(report({ rows }), chosen)?.name).toBe(expected);
  });

  it('has no detail until the kernel tells that of this server', () => {
    expect(viewOf(scene({ detail: detail('files') }), null, START, true).detail).toBeNull();
    expect(viewOf(scene(), null, START, true).detail!.server).toBe('kandev');
  });
});

describe('UI/Explorer: the tools', () => {
  it('are filtered by every word, in name or description, whatever the case', () => {
    const tools = [tool('get_TASK'), tool('x', 0, { description: 'The task of it' }), tool('y')];
    expect(names(matching(tools, ' Task  '))).toEqual(['get_TASK', 'x']);
    expect(names(matching(tools, 'task the'))).toEqual(['x']);
    expect(matching(tools, '')).toHaveLength(3);
  });

  it('are sorted by name, or the largest first and by name among equals', () => {
    const tools = [tool('b', 5), tool('c', 9), tool('a', 5)];
    expect(names(sorted(tools, 'name'))).toEqual(['a', 'b', 'c']);
    expect(names(sorted(tools, 'tokens'))).toEqual(['c', 'a', 'b']);
    expect(names(tools)).toEqual(['b', 'c', 'a']);
  });

  it('are counted, with their tokens, whatever the filter leaves', () => {
    const view = viewOf(scene(), CATALOG, { ...START, filter: 'plan' }, true);
    expect(view).toMatchObject({ all: 6, tokens: 1240, most: 412 });
    expect(names(view.tools)).toEqual(['create_task_plan_kandev']);
  });

  it('keep the one explanation of their estimates apart from the other notes', () => {
    const late = message('An earlier connection is still in use.', 'note.late_traffic');
    const rows = report({ rows: ROWS, notes: [late, ESTIMATE] });
    expect(viewOf(scene({ rows }), null, START, true)).toMatchObject({
      notes: [late],
      estimate: ESTIMATE
    });
  });
});

describe('UI/Explorer: the page', () => {
  const pageOf = (at: typeof START, wide: boolean, changes = {}, catalog = CATALOG) => {
    const { page, back } = viewOf(scene(changes), catalog, at, wide);
    return [page, back];
  };
  const atTool = openTool(START, AT, 'get_task_kandev');

  it('is the servers first where it is narrow, and the tools where it is wide', () => {
    expect(pageOf(START, false)).toEqual(['servers', null]);
    expect(pageOf(START, true)).toEqual(['tools', null]);
    expect(pageOf(openTools(START), false)).toEqual(['tools', 'servers']);
  });

  it('is one tool, from which Back leads to the tools', () => {
    expect(pageOf(atTool, true)).toEqual(['tool', 'tools']);
    expect(pageOf(atTool, false)).toEqual(['tool', 'tools']);
  });

  it('is the tools again when the tool has vanished', () => {
    expect(pageOf(atTool, true, {}, { ...CATALOG, tools: [] })).toEqual(['tools', null]);
    expect(pageOf(atTool, false, {}, { ...CATALOG, tools: [] })).toEqual(['tools', 'servers']);
  });

  it('is the tools when another view selects another server or session', () => {
    expect(pageOf(atTool, true, { server: 'github' })[0]).toBe('tools');
    expect(pageOf(atTool, true, { session: 's-2' })[0]).toBe('tools');
  });

  it('leaves an action that the kernel does not offer any more, or that was of another server', () => {
    const at = openAction(START, AT, 'reset');
    expect(pageOf(at, true)).toEqual(['action', 'tools']);
    expect(pageOf(at, true, { actions: [] })[0]).toBe('tools');
    expect(pageOf(at, true, { server: 'github' })[0]).toBe('tools');
  });

  it('is that of the questions as long as there are some', () => {
    const permissions = [{ id: 'p', title: '', tool: '', options: [] }];
    expect(pageOf(openAsked(START), true, { permissions })).toEqual(['asked', 'tools']);
    expect(pageOf(openAsked(START), true)).toEqual(['tools', null]);
  });

  it('has no tools where there is no server', () => {
    const none = { rows: report({ rows: [] }) };
    expect(pageOf(atTool, false, none)).toEqual(['servers', null]);
    expect(pageOf(openAction(START, placeOf('s-1', null), 'reset'), false, none)).toEqual([
      'action',
      'servers'
    ]);
  });
});
