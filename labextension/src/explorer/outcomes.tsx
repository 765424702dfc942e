/** How each action went. The status of the server stands above it, and is not changed by it. */
import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { Confirm } from './confirm';
import type { Message } from './rows';
import { Line, Lines, Text } from './said';
import { useWords } from './words';

export interface OutcomeProps {
  of: unknown;
  /** Does it after all, now that the reader knows what is started. */
  agree: () => void;
}

interface Tested {
  text: Message;
  lines: Message[];
  consent: Message | null;
}

function TestOutcome({ of, agree }: OutcomeProps) {
  const words = useWords();
  const { text, lines, consent } = of as Tested;
  return (
    <div role="status">
      {consent ? (
        <>
          <Line of={consent} />
          <p class="muted">{words.say('confirm_hint')}</p>
          <Confirm testId="kandev-consent" onClick={agree}>
            {words.say('consent')}
          </Confirm>
        </>
      ) : (
        <Line class="name" of={text} />
      )}
      {lines.map((line, place) => (
        <Line key={place} class="muted" of={line} />
      ))}
    </div>
  );
}

interface Output {
  warning: Message;
  lines: string[];
  why_none: Message | null;
}

function OutputOutcome({ of }: OutcomeProps) {
  const { warning, lines, why_none } = of as Output;
  return (
    <>
      <Line class="notice" of={warning} />
      {why_none && <Line class="empty" of={why_none} />}
      {lines.length > 0 && <Lines class="code json" of={lines.join('\n')} />}
    </>
  );
}

interface Diagnostics {
  text: string;
  left_out: Message;
}

/** Copies what is marked, where the clipboard itself is refused. */
function copyMarked(area: HTMLTextAreaElement): boolean {
  area.focus();
  area.select();
  try {
    return document.execCommand('copy');
  } catch {
    return false;
  }
}

function DiagnosticsOutcome({ of }: OutcomeProps) {
  const words = useWords();
  const { text, left_out } = of as Diagnostics;
  const area = useRef<HTMLTextAreaElement>(null);
  const [copied, told] = useState<boolean | null>(null);
  const copy = () =>
    navigator.clipboard
      ? navigator.clipboard.writeText(text).then(
          () => told(true),
          () => told(copyMarked(area.current!))
        )
      : told(copyMarked(area.current!));
  useEffect(() => void copy(), []);
  return (
    <>
      <p role="status" data-testid="kandev-copied">
        {copied !== null && words.say(copied ? 'copied' : 'not_copied')}
      </p>
      <Line class="muted" of={left_out} />
      <button onClick={() => void copy()}>{words.say('copy')}</button>
      <textarea
        ref={area}
        class="code"
        readOnly
        rows={12}
        aria-label={words.say('action.diagnostics')}
        value={text}
      />
    </>
  );
}

interface Settings {
  path: string | null;
  profile: string | null;
}

function SettingsOutcome({ of }: OutcomeProps) {
  const { path, profile } = of as Settings;
  return (
    <>
      {path !== null && (
        <p>
          <Text class="code" of={path} />
        </p>
      )}
      {profile !== null && <Lines class="code json" of={profile} />}
    </>
  );
}

function Done() {
  return <p role="status">{useWords().say('done')}</p>;
}

/** By operation; one that is not here is not offered. */
export const OUTCOMES: Record<string, ComponentType<OutcomeProps>> = {
  test_endpoint: TestOutcome,
  recent_output: OutputOutcome,
  diagnostics: DiagnosticsOutcome,
  open_settings: SettingsOutcome,
  reset: Done,
  restart: Done
};
