/** What the kernel can do for this session: a button each, and a page for how it went. */
import { useEffect } from 'preact/hooks';

import { Confirm } from './confirm';
import { openAction } from './navigation';
import { OUTCOMES } from './outcomes';
import type { Stage } from './stage';
import { Trouble, useReply, Waiting } from './waiting';
import { useWords } from './words';

/** Those that lose something are asked about first. */
const LOSES = ['reset', 'restart'];

/** One button an operation that the kernel offers and this page knows. */
export function ActionBar({ stage }: { stage: Stage }) {
  const words = useWords();
  const known = stage.view.actions.filter(
    action => Object.hasOwn(OUTCOMES, action) && (stage.view.row || action !== 'test_endpoint')
  );
  if (known.length === 0) return null;
  return (
    <div class="actions" role="group" aria-label={words.say('actions')}>
      {known.map(action => (
        <button
          key={action}
          data-testid={`kandev-action-${action}`}
          onClick={() => stage.go(openAction(stage.at, stage.view.place, action))}
        >
          {words.say(`action.${action}`)}
        </button>
      ))}
    </div>
  );
}

/** The page of one action; what it does begins when the page opens, unless it must be confirmed. */
export function ActionPage({ stage }: { stage: Stage }) {
  const words = useWords();
  const { action } = stage.at;
  const [reply, ask] = useReply<unknown>(stage.host);
  const args = { session: stage.scene.session };
  const server = stage.view.row?.name;
  const begin = (more = {}) =>
    ask(action, action === 'test_endpoint' ? { ...args, server, ...more } : args);
  const loses = LOSES.includes(action);
  useEffect(() => {
    if (!loses) begin({ consent: false });
  }, []);
  const Outcome = OUTCOMES[action]!;
  return (
    <article data-testid="kandev-action-page">
      <h3>{words.say(`action.${action}`)}</h3>
      {loses && reply.is === 'none' && (
        <>
          <p>{words.say(`confirm.${action}`)}</p>
          <p class="muted">{words.say('confirm_hint')}</p>
          <Confirm testId="kandev-confirm" onClick={() => begin()}>
            {words.say(`action.${action}`)}
          </Confirm>
        </>
      )}
      {reply.is === 'waiting' && <Waiting />}
      {reply.is === 'refused' && <Trouble of={reply.why} />}
      {reply.is === 'there' && <Outcome of={reply.of} agree={() => begin({ consent: true })} />}
    </article>
  );
}
