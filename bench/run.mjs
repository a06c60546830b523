// npm run bench [-- suite …] [--json FILE] [--smallest]: runs each suite in a process of its own, so that
// none inherits another's memory.
// --smallest runs each suite once at its least, to check that it runs; goals are not judged. With CI=true,
// all peers have to be present.
import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = new URL('./suites/', import.meta.url)
const all = readdirSync(folder).map((file) => file.replace('.mjs', ''))
const args = process.argv.slice(2)
const json = args.includes('--json') ? args.splice(args.indexOf('--json'), 2)[1] : undefined
const smallest = args.includes('--smallest') && args.splice(args.indexOf('--smallest'), 1).length > 0
if (smallest && json !== undefined) {
  console.error('--smallest measures nothing that could be kept: leave out --json')
  process.exit(2)
}
const ci = /^(1|true)$/i.test(process.env.CI ?? '')
const unknown = args.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  console.error(`no suite ${unknown.join(', ')}; there are ${all.join(', ')}`)
  process.exit(2)
}

const rows = []
const failed = []
const env = smallest ? { ...process.env, HYPERSLAB_BENCH: 'smallest' } : process.env
for (const suite of args.length > 0 ? args : all) {
  console.log(`\n${suite}`)
  const started = Date.now()
  const path = fileURLToPath(new URL(`${suite}.mjs`, folder))
  const { status, stdout } = spawnSync(process.execPath, ['--expose-gc', path], {
    encoding: 'utf8',
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Lines by which suites report that a peer is missing: see peers.mjs, python.mjs and crate.mjs.
  const absent = smallest && ci && /^(peer not installed|skipped): /im.test(stdout)
  if (status !== 0 || absent) failed.push(suite)
  for (const line of stdout.split('\n').filter(Boolean)) {
    const row = line.startsWith('{') ? JSON.parse(line) : undefined
    if (row === undefined) console.log(`  ${line}`)
    else if (smallest) console.log(`  ran    ${row.name}`)
    else {
      rows.push(row)
      console.log(`  ${row.met ? 'met   ' : 'MISSED'} ${row.name}: ${row.ratio.toFixed(2)} (${row.goal}), against ${row.peer}`)
    }
  }
  if (smallest) console.log(`  ${((Date.now() - started) / 1000).toFixed(1)} s`)
}
if (json !== undefined) writeFileSync(json, `${JSON.stringify(rows, null, 2)}\n`)
if (failed.length > 0) console.error(`\nfailed: ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0
