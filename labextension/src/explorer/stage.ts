/** What every page of the explorer is given. */
import type { Shelf } from './catalogs';
import type { ExplorerHost } from './host';
import type { Navigation } from './navigation';
import type { Scene } from './shown';
import type { View } from './view';

export interface Stage {
  host: ExplorerHost;
  scene: Scene;
  shelf: Shelf;
  view: View;
  at: Navigation;
  go(next: Navigation): void;
}
