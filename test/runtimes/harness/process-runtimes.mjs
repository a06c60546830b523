// Runtimes that are one program: they run the suite in memory and on disk and print what they found.
import { join } from 'node:path'
import { scratch } from './app.mjs'
import { execute } from './processes.mjs'
import { fileOf, root, TOOLS } from './tools.mjs'

const nodeOf = (name) => fileOf(name, `${Object.keys(TOOLS[name])[0]}/bin/node`)
const run = ['run', '--no-prompt', '--quiet']

/** Commands that start each runtime. `folder` is the only folder that they may touch. */
export const PROCESSES = {
  node: { label: 'Node', program: () => process.execPath, args: () => [] },
  node22: { label: 'Node', program: () => nodeOf('node22'), args: () => [] },
  node24: { label: 'Node', program: () => nodeOf('node24'), args: () => [] },
  deno: {
    label: 'Deno',
    program: denoProgram,
    args: (app) => [...run, `--allow-read=${app.folder}`, `--allow-write=${app.folder}`],
    // The sources import each other with the names of their files, and what else they need from the
    // repository's packages.
    sources: [...run, '--node-modules-dir=manual', '--allow-all', join(root, 'test/runtimes/programs/sources.mjs')],
  },
  bun: { label: 'Bun', program: () => fileOf('bun', `${Object.keys(TOOLS.bun)[0]}/bin/bun`), args: () => [] },
}

export async function runProcess(name, app) {
  const { label, program, args, sources } = PROCESSES[name]
  const { stdout: version } = await execute(program(), ['--version'])
  const resultsOf = async (given) => {
    const { code, stdout, stderr } = await execute(program(), given, { cwd: app.folder })
    const results = code === 0 ? parse(stdout) : undefined
    return results ?? [{ name: 'runs', error: `exit code ${code}\n${stderr || stdout}` }]
  }
  const folder = scratch(app, name)
  const cells = [{ name: 'import', results: await resultsOf([...args(app), join(app.folder, 'programs/process.mjs'), folder]) }]
  if (sources !== undefined) cells.push({ name: 'sources', results: await resultsOf([...sources, folder]) })
  return { label, version: /\d+\.\d+\.\d+/.exec(version)?.[0], cells, stores: 'memory, files' }
}

/** Deno's package starts what its install script has chosen; we run the program itself. */
export function denoProgram() {
  const platforms = { linux: `linux-${process.arch}-glibc`, darwin: `darwin-${process.arch}`, win32: `win32-${process.arch}` }
  return fileOf('deno', `@deno/${platforms[process.platform]}/deno`)
}

function parse(stdout) {
  try {
    return JSON.parse(stdout.trim().split('\n').at(-1))
  } catch {
    return undefined
  }
}
