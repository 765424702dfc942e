/** One server: what is known of it, and its tools. */
import { ActionBar } from './actions';
import { Attempts, Facts } from './details';
import { Evidence } from './evidence';
import { Disclosure } from './disclosure';
import { Line } from './said';
import type { Detail } from './shown';
import type { Stage } from './stage';
import { Timeline } from './timeline';
import { ToolList } from './toolList';
import { Trouble, Waiting } from './waiting';
import { useWords } from './words';

function Disclosures({ detail, stage }: { detail: Detail; stage: Stage }) {
  const words = useWords();
  const earlier = words.say('attempts', { count: detail.attempts.length });
  return (
    <div class="disclosures">
      <Disclosure name="evidence" title={words.say('evidence')} stage={stage}>
        <Evidence detail={detail} />
      </Disclosure>
      <Disclosure name="timeline" title={words.say('timeline')} stage={stage}>
        <Timeline lanes={detail.lanes} />
      </Disclosure>
      <Disclosure name="details" title={words.say('details')} stage={stage}>
        <Facts of={detail.facts} />
      </Disclosure>
      {detail.attempts.length > 0 && (
        <Disclosure name="attempts" title={earlier} stage={stage}>
          <Attempts of={detail.attempts} />
        </Disclosure>
      )}
    </div>
  );
}

function Tools({ stage }: { stage: Stage }) {
  const { catalog, isCurrent, why } = stage.shelf;
  return (
    <>
      {why ? <Trouble of={why} /> : !isCurrent && <Waiting />}
      {catalog && catalog.tools.length > 0 && <ToolList stage={stage} />}
    </>
  );
}

export function ToolsPage({ stage }: { stage: Stage }) {
  const { detail } = stage.view;
  return (
    <>
      {detail?.notes.map(note => (
        <Line key={note.key} class="notice" of={note} />
      ))}
      {detail ? <Disclosures detail={detail} stage={stage} /> : !stage.scene.saved && <Waiting />}
      {detail?.tools_absent && <Line class="empty" of={detail.tools_absent} />}
      <Tools stage={stage} />
      <ActionBar stage={stage} />
    </>
  );
}
