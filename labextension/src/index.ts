/** The JupyterLab and Notebook 7 extension: says what it adds, and nothing else. */
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';

import { reportFactory } from './lab/reportRenderer';

const report = {
  id: 'kandev-nb:report',
  description: 'Shows the MCP server report that a notebook holds.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  activate(_app: unknown, registry: IRenderMimeRegistry): void {
    registry.addFactory(reportFactory);
  }
};

export default [report];
