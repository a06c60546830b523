// Bundles the page for browsers into `dist`, which any server of files can offer.
import { cpSync } from 'node:fs'
import { build } from 'esbuild'

const here = (path) => new URL(path, import.meta.url).pathname
await build({
  absWorkingDir: here('.'),
  entryPoints: ['./page.mjs'],
  outdir: 'dist',
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  logLevel: 'warning',
})
cpSync(here('index.html'), here('dist/index.html'))
