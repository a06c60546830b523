// npm run bench [-- suite …] [--json FILE]: runs each suite in a process of its own, so that none inherits another's memory.
import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = new URL('./suites/', import.meta.url)
const all = readdirSync(folder).map((file) => file.replace('.mjs', ''))
const args = process.argv.slice(2)
const json = args.includes('--json') ? args.splice(args.indexOf('--json'), 2)[1] : undefined
const unknown = args.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  console.error(`no suite ${unknown.join(', ')}; there are ${all.join(', ')}`)
  process.exit(2)
}

const rows = []
let failed = false
for (const suite of args.length > 0 ? args : all) {
  console.log(`\n${suite}`)
  const path = fileURLToPath(new URL(`${suite}.mjs`, folder))
  const { status, stdout } = spawnSync(process.execPath, ['--expose-gc', path], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  failed ||= status !== 0
  for (const line of stdout.split('\n').filter(Boolean)) {
    const row = line.startsWith('{') ? JSON.parse(line) : undefined
    if (row === undefined) console.log(`  ${line}`)
    else {
      rows.push(row)
      console.log(`  ${row.met ? 'met   ' : 'MISSED'} ${row.name}: ${row.ratio.toFixed(2)} (${row.goal}), against ${row.peer}`)
    }
  }
}
if (json !== undefined) writeFileSync(json, `${JSON.stringify(rows, null, 2)}\n`)
process.exitCode = failed ? 1 : 0
