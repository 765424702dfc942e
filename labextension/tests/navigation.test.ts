import { describe, expect, it } from 'vitest';

import {
  back,
  openAction,
  openAsked,
  openSession,
  openTool,
  openTools,
  PAGE,
  START,
  toggle
} from '../src/explorer/navigation';

const AT = 's-1\nkandev';

describe('UI/Explorer: moves', () => {
  it('lead from servers to tools to one tool, and give the page the focus', () => {
    const tools = openTools({ ...START, filter: 'task' });
    expect(tools).toMatchObject({ level: 'tools', filter: '', focus: PAGE });

    expect(openTool(tools, AT, 'a')).toMatchObject({ level: 'tool', tool: 'a', focus: PAGE });
  });

  it('lead back to what opened them, which gets the focus again', () => {
    const tool = openTool(START, AT, 'get "it"');
    const test = openAction(START, AT, 'reset');

    expect(back(tool, 'tool', 'kandev')).toMatchObject({
      level: 'tools',
      focus: 'kandev-tool-row-get "it"'
    });
    expect(back(test, 'action', 'kandev').focus).toBe('kandev-action-reset');
    expect(back(openAsked(START), 'asked', 'kandev').focus).toBe('kandev-asked');
    expect(back(openTools(START), 'tools', 'files')).toMatchObject({
      level: 'servers',
      focus: 'kandev-server-row-files'
    });
  });

  it('keep the filter and the order on the way to a tool and back', () => {
    const at = { ...openTools(START), filter: 'task', order: 'tokens' as const };
    expect(back(openTool(at, AT, 'a'), 'tool', 'kandev')).toMatchObject({
      filter: 'task',
      order: 'tokens'
    });
  });

  it('begin again in another session, and leave the focus where it is', () => {
    const at = { ...openTool(START, AT, 'a'), filter: 'task' };
    expect(openSession(at)).toMatchObject({ level: 'servers', tool: '', filter: '', focus: '' });
  });

  it('open and close a disclosure once each, and leave the others', () => {
    const open = toggle(toggle(START, 'evidence', true), 'timeline', true);
    expect(toggle(open, 'evidence', true).opened).toEqual(['timeline', 'evidence']);
    expect(toggle(open, 'evidence', false).opened).toEqual(['timeline']);
  });
});
