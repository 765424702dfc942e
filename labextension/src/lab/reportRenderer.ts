/** Draws a report that was saved in a notebook, in JupyterLab and Notebook 7. */
import type { MimeModel, RendererFactory } from '@jupyterlab/rendermime';
import { Widget } from '@lumino/widgets';

import type { Host, Shown } from '../explorer/host';
import { mount } from '../explorer/mount';
import { MIME_TYPE, readReport } from '../explorer/report';

/** A host without a kernel: what the notebook holds, until the output is replaced. */
class SavedHost implements Host {
  private changed: () => void = () => undefined;

  constructor(private shown: Shown) {}

  get(): Shown {
    return this.shown;
  }

  replace(shown: Shown): void {
    this.shown = shown;
    this.changed();
  }

  subscribe(changed: () => void): () => void {
    this.changed = changed;
    return () => (this.changed = () => undefined);
  }

  send(): void {}
}

class ReportRenderer extends Widget {
  private host: SavedHost | null = null;
  private unmount: () => void = () => undefined;

  renderModel(model: MimeModel): Promise<void> {
    const shown = readReport(model.data[MIME_TYPE]);
    if (this.host) {
      this.host.replace(shown);
    } else {
      this.host = new SavedHost(shown);
      this.unmount = mount(this.node, this.host);
    }
    return Promise.resolve();
  }

  override dispose(): void {
    this.unmount();
    super.dispose();
  }
}

export const reportFactory: RendererFactory = {
  // Not for untrusted notebooks: these show the text table that stands beside the report.
  safe: false,
  mimeTypes: [MIME_TYPE],
  dataTypes: ['json'],
  createRenderer: () => new ReportRenderer()
};
