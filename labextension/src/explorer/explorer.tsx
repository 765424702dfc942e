/** The explorer: servers, their tools, one tool. It keeps its place while what it shows changes. */
import { useEffect, useRef, useState } from 'preact/hooks';

import { ActionBar, ActionPage } from './actions';
import { AskedBanner, AskedPage } from './asked';
import { useCatalog } from './catalogs';
import { Header } from './header';
import type { ExplorerHost } from './host';
import { START } from './navigation';
import { Page } from './page';
import { Rail } from './rail';
import { Line } from './said';
import type { Scene } from './shown';
import type { Stage } from './stage';
import { ToolPage } from './toolPage';
import { ToolsPage } from './toolsPage';
import { useFocus } from './useFocus';
import { useShown } from './useShown';
import { useWide } from './useWide';
import { selectedRow, viewOf } from './view';
import { Spoken, type Templates, useWords, Words } from './words';

function Content({ stage }: { stage: Stage }) {
  const { page, tool, row } = stage.view;
  if (page === 'asked') return <AskedPage stage={stage} />;
  if (page === 'action') return <ActionPage stage={stage} />;
  if (!row) return <ActionBar stage={stage} />;
  if (page === 'servers') return <Rail stage={stage} />;
  return page === 'tool' && tool ? (
    <ToolPage tool={tool} view={stage.view} />
  ) : (
    <ToolsPage stage={stage} />
  );
}

/** Asks the kernel for the document's language; until it comes, and if none does, it is English. */
function useLanguage(host: ExplorerHost): Words {
  const [words, speak] = useState(() => new Words());
  useEffect(() => {
    const { lang } = document.documentElement;
    if (!lang || /^en\b/i.test(lang)) return;
    host.send('words', { language: lang }).then(
      templates => speak(new Words(lang, templates as Templates)),
      () => undefined
    );
  }, [host]);
  return words;
}

interface SceneProps {
  host: ExplorerHost;
  scene: Scene;
  close: (() => void) | undefined;
}

function SceneView({ host, scene, close }: SceneProps) {
  const [at, go] = useState(START);
  const [box, wide] = useWide<HTMLElement>();
  const offsets = useRef(new Map<string, number>()).current;
  const row = selectedRow(scene.rows, scene.server);
  const shelf = useCatalog(host, scene.session, row);
  const view = viewOf(scene, shelf.catalog, at, wide);
  const stage: Stage = { host, scene, shelf, view, at, go };
  const server = row?.name ?? '';
  useFocus(box, at);
  useEffect(() => {
    // The kernel tells of the server that it knows to be selected.
    if (server && server !== scene.server) host.select({ server });
  }, [host, server, scene.server]);
  return (
    <section
      ref={box}
      class={`explorer ${wide ? 'wide' : 'narrow'} ${row ? '' : 'bare'}`}
      aria-label={useWords().of(scene.rows.heading)}
      tabIndex={-1}
      data-testid="kandev-explorer"
      onKeyDown={event => event.stopPropagation()}
    >
      <Header stage={stage} close={close} />
      {scene.rows.banner && (
        <div data-testid="kandev-session-error">
          <Line class="banner" of={scene.rows.banner} />
        </div>
      )}
      <AskedBanner stage={stage} />
      {scene.rows.empty && <Line class="empty" of={scene.rows.empty} />}
      <div class="panes">
        {wide && row && <Rail stage={stage} />}
        <Page key={`${view.page}\n${view.place}`} stage={stage} offsets={offsets}>
          <Content stage={stage} />
        </Page>
      </div>
    </section>
  );
}

/** The whole view; `close` is given where it stands in a dialog. */
export function Explorer({ host, close }: { host: ExplorerHost; close?: () => void }) {
  const shown = useShown(host);
  const words = useLanguage(host);
  return (
    <Spoken.Provider value={words}>
      {'sentence' in shown ? (
        <p class="sentence" role="status">
          {shown.sentence}
        </p>
      ) : (
        <SceneView host={host} scene={shown} close={close} />
      )}
    </Spoken.Provider>
  );
}
