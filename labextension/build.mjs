// Builds the two bundles of the one code base: JupyterLab's, which its own builder packs around
// the packages of the application, and anywidget's, which is one module that holds everything.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { build } from 'esbuild';

// The styles are text in a module, which esbuild leaves as it is.
const squeezed = css => css.replace(/\s*\n\s*/g, '').replace(/([:;,>]) | ?([{}]) ?/g, '$1$2');

const styles = {
  name: 'styles',
  setup({ onLoad }) {
    onLoad({ filter: /[sS]tyles\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/`\n[^`]*`/g, squeezed),
      loader: 'ts'
    }));
  }
};

const options = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  logLevel: 'warning',
  plugins: [styles],
  inject: ['src/jsx.ts'],
  tsconfigRaw: {
    compilerOptions: { jsx: 'react', jsxFactory: 'h', jsxFragmentFactory: 'Fragment' }
  }
};

await build({
  ...options,
  entryPoints: ['src/index.ts'],
  outfile: 'lib/index.js',
  packages: 'external'
});
execFileSync(
  process.execPath,
  [
    'node_modules/@jupyter/builder/lib/build-labextension.js',
    '--core-package-file',
    'node_modules/@jupyterlab/core-meta/core.package.json',
    '.'
  ],
  { stdio: 'inherit' }
);
copyFileSync('node_modules/preact/LICENSE', '../kandev_nb/labextension/static/preact.LICENSE.txt');

await build({
  ...options,
  entryPoints: ['src/widget.ts'],
  outfile: '../kandev_nb/static/widget.js',
  banner: { js: '/*! kandev-nb, BSD-3-Clause. Holds Preact, MIT, (c) 2015 Jason Miller. */' },
  minify: true
});
