// Findings of the linters of packages and of JSR, and the size of the archive.
import { BUNDLERS, bundle } from './bundles.mjs'
import { denoProgram } from './process-runtimes.mjs'
import { execute } from './processes.mjs'
import { fileOf, root, versionOf } from './tools.mjs'

/** Bytes, gzipped, of a bundle that uses `slice` only. */
const SLICE_BYTES = 1000

export async function runPackaging(app) {
  const attw = '@arethetypeswrong/cli'
  // There is no CommonJS build: `require` gives the same modules.
  const checks = {
    publint: [fileOf('package', 'publint/src/cli.js'), 'run', app.archive, '--strict'],
    attw: [fileOf('package', `${attw}/dist/index.js`), app.archive, '--profile', 'esm-only', '--format', 'ascii', '--no-color'],
  }
  const results = []
  for (const [name, args] of Object.entries(checks)) {
    const { code, stdout, stderr } = await execute(process.execPath, args, { seconds: 40 })
    results.push({ name, error: code === 0 ? undefined : `exit code ${code}\n${stdout}${stderr}` })
  }
  // Compiles the sources as Deno does, and refuses what is exported without a type: JSR documents it and
  // makes declarations of it.
  const { code, stderr } = await execute(denoProgram(), ['publish', '--dry-run', '--allow-dirty'], {
    cwd: root,
    env: { NO_COLOR: '1' },
    seconds: 120,
  })
  results.push({ name: 'deno publish', error: code === 0 ? undefined : `exit code ${code}\n${stderr}` })
  const bundles = await bundle(app)
  for (const [key, name] of Object.entries(BUNDLERS)) {
    const { error, sliceBytes } = bundles[key]
    const large = sliceBytes > SLICE_BYTES ? `it is ${sliceBytes} bytes, gzipped` : undefined
    results.push({ name: `slice alone is small in ${name}`, error: error ?? large })
  }
  const version = `publint ${versionOf('package', 'publint')}, attw ${versionOf('package', attw)}, deno ${versionOf('deno', 'deno')}`
  return { label: 'package', version, cells: [{ name: 'archive', results }], stores: '' }
}
