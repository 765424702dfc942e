/** What stands above every page: whose servers these are, the switcher of sessions, and Close. */
import { openSession } from './navigation';
import { Line, Told } from './said';
import { Saved } from './statusTable';
import type { Stage } from './stage';
import { useWords } from './words';

function Switcher({ stage: { host, scene, at, go } }: { stage: Stage }) {
  const words = useWords();
  const choose = (session: string) => {
    host.select({ session });
    go(openSession(at));
  };
  return (
    <select
      aria-label={words.say('session')}
      data-testid="kandev-switcher"
      value={scene.session}
      onChange={({ currentTarget: { value } }) => choose(value)}
    >
      {scene.sessions.map(({ id, label }) => (
        <option key={id} value={id}>
          {words.of(label)}
        </option>
      ))}
    </select>
  );
}

export function Header({ stage, close }: { stage: Stage; close: (() => void) | undefined }) {
  const words = useWords();
  const { scene, view } = stage;
  return (
    <header>
      <div class="heading">
        <Told class="title" of={scene.rows.heading} />
        {scene.saved && <Saved />}
        {scene.sessions.length > 1 && <Switcher stage={stage} />}
        {close && (
          <button
            class="close"
            aria-label={words.say('close')}
            data-testid="kandev-close"
            onClick={close}
          >
            <span aria-hidden="true">✕</span>
          </button>
        )}
      </div>
      {view.notes.map(note => (
        <Line key={note.key} class="note" of={note} />
      ))}
    </header>
  );
}
