/** What the agent asks: questions, which are answered together or declined, and permissions. */
import { useState } from 'preact/hooks';

import { Confirm } from './confirm';
import { openAsked } from './navigation';
import { Lines, Text } from './said';
import type { Bundle, Permission } from './shown';
import type { Stage } from './stage';
import { Trouble, useReply, Waiting } from './waiting';
import { useWords } from './words';

/** The line that leads to the questions, on every page but theirs. */
export function AskedBanner({ stage }: { stage: Stage }) {
  const words = useWords();
  const { asked, page } = stage.view;
  return (
    <div class="asked" role="status">
      {asked > 0 && page !== 'asked' && (
        <>
          <span>{words.count('asked', asked)}</span>{' '}
          <button data-testid="kandev-asked" onClick={() => stage.go(openAsked(stage.at))}>
            {words.say('asked_show')}
          </button>
        </>
      )}
    </div>
  );
}

interface QuestionProps {
  bundle: string;
  of: Bundle['questions'][number];
  choose: (label: string) => void;
}

function Question({ bundle, of, choose }: QuestionProps) {
  return (
    <fieldset>
      <legend>
        <Text of={of.title || of.prompt} />
      </legend>
      {of.title && <Lines of={of.prompt} />}
      {of.options.map(({ label, description }) => (
        <label key={label} class="option">
          <input type="radio" name={`${bundle}-${of.id}`} onChange={() => choose(label)} />
          <span>
            <Text class="name" of={label} />
            {description && <Lines class="muted" of={description} />}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function Questions({ of, stage }: { of: Bundle; stage: Stage }) {
  const words = useWords();
  const [answers, answer] = useState<Record<string, string>>({});
  const [reply, ask] = useReply(stage.host);
  const isDone = of.questions.every(({ id }) => Object.hasOwn(answers, id));
  const isSent = reply.is === 'waiting' || reply.is === 'there';
  return (
    <section aria-label={words.say('question')} data-testid={`kandev-question-${of.id}`}>
      {of.context && <Lines of={of.context} />}
      {of.questions.map(question => (
        <Question
          key={question.id}
          bundle={of.id}
          of={question}
          choose={label => answer({ ...answers, [question.id]: label })}
        />
      ))}
      <div class="actions">
        <Confirm
          testId="kandev-answer"
          disabled={!isDone || isSent}
          onClick={() => ask('answer', { id: of.id, answers })}
        >
          {words.say('answer')}
        </Confirm>
        <Confirm
          testId="kandev-decline"
          disabled={isSent}
          onClick={() => ask('answer', { id: of.id, answers: null })}
        >
          {words.say('decline')}
        </Confirm>
      </div>
      {reply.is === 'waiting' && <Waiting />}
      {reply.is === 'refused' && <Trouble of={reply.why} />}
    </section>
  );
}

function Permit({ of, stage }: { of: Permission; stage: Stage }) {
  const words = useWords();
  const [reply, ask] = useReply(stage.host);
  const isSent = reply.is === 'waiting' || reply.is === 'there';
  const title = words.say('permission', { tool: of.tool });
  return (
    <section aria-label={title} data-testid={`kandev-permission-${of.id}`}>
      <h4>{title}</h4>
      <Lines of={of.title} />
      <div class="actions">
        {of.options.map(({ id, label }) => (
          <Confirm
            key={id}
            testId={`kandev-option-${id}`}
            disabled={isSent}
            onClick={() => ask('permission', { id: of.id, option: id })}
          >
            <Text of={label} />
          </Confirm>
        ))}
      </div>
      {reply.is === 'waiting' && <Waiting />}
      {reply.is === 'refused' && <Trouble of={reply.why} />}
    </section>
  );
}

export function AskedPage({ stage }: { stage: Stage }) {
  const words = useWords();
  return (
    <article>
      <p class="muted">{words.say('confirm_hint')}</p>
      {stage.scene.permissions.map(each => (
        <Permit key={each.id} of={each} stage={stage} />
      ))}
      {stage.scene.questions.map(each => (
        <Questions key={each.id} of={each} stage={stage} />
      ))}
    </article>
  );
}
