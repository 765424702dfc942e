import { act } from 'preact/test-utils';
import { afterEach, describe, expect, it } from 'vitest';

import { FakeHost, message, open, report, row, type Page } from './sample';

let page: Page;

function show(rows = report(), saved = false): FakeHost {
  const host = new FakeHost({ rows, saved });
  act(() => {
    page = open(host);
  });
  return host;
}

function pageText(): string {
  return page.root.querySelector('section')!.textContent!;
}

afterEach(() => {
  act(() => page.unmount());
});

describe('UI: a row', () => {
  it('says in words what its dot says in colour', () => {
    show(report({ rows: [row('kandev'), row('files', { dot: 'red', label: message('Failed') })] }));

    const failed = page.find('kandev-server-row-files');
    expect(failed.textContent).toBe('filesFailed');
    expect(failed.querySelector('.dot.red')!.getAttribute('aria-hidden')).toBe('true');
    expect(page.root.querySelectorAll('.row')).toHaveLength(2);
  });

  it('differs in the shape of its dot as well as in its colour', () => {
    const dots = ['green', 'amber', 'red', 'gray'] as const;
    show(report({ rows: dots.map(dot => row(dot, { dot })) }));

    const shapes = [...page.root.querySelectorAll('path')].map(path => path.getAttribute('d'));
    expect(new Set(shapes).size).toBe(4);
  });

  it('shows details and summary where the kernel gives them', () => {
    const details = [message('6 tools', 'detail.tools'), message('~90 tokens', 'detail.tokens')];
    show(report({ rows: [row('kandev', { details, summary: message('refused') })] }));

    const shown = page.find('kandev-server-row-kandev').textContent;
    expect(shown).toContain('6 tools~90 tokensrefused');
  });

  it('follows a change, and keeps its place', () => {
    const host = show();
    const before = page.find('kandev-server-row-kandev');

    const active = row('kandev', { status: 'active', dot: 'green', label: message('Active') });
    act(() => host.set({ rows: report({ rows: [active] }), saved: false }));

    expect(page.find('kandev-server-row-kandev')).toBe(before);
    expect(before.textContent).toBe('kandevActive');
  });
});

describe('UI: around the rows', () => {
  it('shows the session error as a banner, the notes, and why there are no rows', () => {
    const error = message('Session error: refused');
    const notes = [message('A note.', 'note.a'), message('Another.', 'note.b')];
    show(report({ banner: error, notes, empty: message('Nothing started yet.'), rows: [] }));

    expect(page.find('kandev-session-error').textContent).toBe('Session error: refused');
    expect(pageText()).toContain('Nothing started yet.A note.Another.');
    expect(page.root.querySelector('ul')).toBeNull();
  });

  it('marks a saved report, and no other', () => {
    show(report(), true);
    expect(page.find('kandev-saved').textContent).toBe('saved');
    act(() => page.unmount());

    show(report(), false);
    expect(page.find('kandev-saved')).toBeNull();
  });

  it('says a plain sentence when there is no report', () => {
    const host = show();
    act(() => host.set({ sentence: 'This cannot be read.' }));

    expect(page.root.querySelector('p')!.textContent).toBe('This cannot be read.');
    expect(page.root.querySelector('.row')).toBeNull();
  });
});

describe('CA-5: text of a provider', () => {
  it('is never markup', () => {
    const nasty = '<img src=x onerror="alert(1)"> **bold** [a](http://b) \u001b[31m\u202e';
    const texts = { label: message(nasty), details: [message(nasty)], summary: message(nasty) };
    const around = { heading: message(nasty), banner: message(nasty), empty: message(nasty) };
    show(report({ ...around, notes: [message(nasty)], rows: [row(nasty, texts)] }));

    const elements = [...page.root.querySelectorAll('section *')].map(found => found.localName);
    expect(elements).not.toContain('img');
    expect(elements).not.toContain('a');
    const spelled = '<img src=x onerror="alert(1)"> **bold** [a](http://b) \\u001b[31m\\u202e';
    expect(pageText().split(spelled)).toHaveLength(9);
  });

  it('keeps its own direction apart from the words around it', () => {
    show(report({ rows: [row('שלום')] }));

    expect(page.root.querySelector('.row .name')!.localName).toBe('bdi');
  });
});

describe('The mounted view', () => {
  it('keeps its keys from the shortcuts of the notebook', () => {
    show();

    expect(page.element.dataset.lmSuppressShortcuts).toBe('true');
    expect(page.root.querySelector('section')!.tabIndex).toBe(-1);
  });

  it('leaves nothing behind when it is taken away', () => {
    const host = show();
    expect(host.listeners.size).toBe(1);

    act(() => page.unmount());

    expect(host.listeners.size).toBe(0);
    expect(page.element.isConnected).toBe(false);
  });
});
