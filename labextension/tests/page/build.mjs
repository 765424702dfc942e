// Builds the page to look at the explorer on: `node tests/page/build.mjs FOLDER`, then open
// FOLDER/index.html, with `#many`, `#asked` and the like after it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const folder = process.argv[2] ?? '/tmp/kandev-nb-page';
mkdirSync(folder, { recursive: true });
await build({
  entryPoints: [new URL('page.ts', import.meta.url).pathname],
  outfile: join(folder, 'page.js'),
  bundle: true,
  format: 'iife',
  target: 'es2022'
});
const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Explorer</title>
<meta name="viewport" content="width=device-width"><body style="margin:8px"><div id="here"></div>
<script src="page.js"></script></body></html>`;
writeFileSync(join(folder, 'index.html'), page);
