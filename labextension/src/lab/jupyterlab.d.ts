/**
 * The few parts of JupyterLab that are used here. The packages themselves come from the running
 * application; installing them only for their types would quadruple the build.
 */
declare module '@lumino/widgets' {
  export class Widget {
    readonly node: HTMLElement;
    dispose(): void;
  }
}

declare module '@jupyterlab/rendermime' {
  import type { Widget } from '@lumino/widgets';

  export interface MimeModel {
    readonly data: Readonly<Record<string, unknown>>;
  }

  export interface Renderer extends Widget {
    renderModel(model: MimeModel): Promise<void>;
  }

  export interface RendererFactory {
    readonly safe: boolean;
    readonly mimeTypes: readonly string[];
    readonly dataTypes: readonly string[];
    createRenderer(): Renderer;
  }

  /** The token, and the service that it stands for. */
  export const IRenderMimeRegistry: unique symbol;
  export interface IRenderMimeRegistry {
    addFactory(factory: RendererFactory, rank?: number): void;
  }
}
