// npm run bench:against -- CHECKOUT [suite …] [--rounds N]: runs the suites of another checkout, built and
// with its packages installed, and those of this one in turn. Other load on the machine thus affects both
// alike.
// Each row is a ratio to the same peer. The output is by how much that ratio is worse here: the median of all
// rounds, with minimum and maximum.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from './measure.mjs'

/** Rows that are worse by more are marked. */
const ALLOWED = 1.03

const args = process.argv.slice(2)
const rounds = args.includes('--rounds') ? Number(args.splice(args.indexOf('--rounds'), 2)[1]) : 5
const [checkout, ...suites] = args
if (checkout === undefined || !existsSync(join(checkout, 'bench/run.mjs')) || !(rounds >= 1)) {
  console.error('usage: npm run bench:against -- CHECKOUT [suite …] [--rounds N]')
  process.exit(2)
}
const sides = { there: resolve(checkout), here: fileURLToPath(new URL('..', import.meta.url)) }

/** Returns the rows of a suite by name, as printed by one run in `folder`. */
function rowsOf(folder, suite) {
  const path = join(folder, 'bench/suites', `${suite}.mjs`)
  const { status, stdout } = spawnSync(process.execPath, ['--expose-gc', path], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error(`${path} failed`)
  const rows = stdout.split('\n').filter((line) => line.startsWith('{'))
  return new Map(rows.map((line) => JSON.parse(line)).map((row) => [row.name, row]))
}

let worse = 0
for (const suite of suites.length > 0
  ? suites
  : ['container', 'gather', 'zarrita', 'kernels', 'reduce', 'remote', 'pool', 'memory']) {
  console.log(`\n${suite}`)
  const ratios = new Map()
  const unmatched = new Set()
  for (let round = 0; round < rounds; round++) {
    const found = {}
    for (const side of round % 2 === 0 ? ['there', 'here'] : ['here', 'there']) found[side] = rowsOf(sides[side], suite)
    for (const [name, row] of found.here) {
      const other = found.there.get(name)
      if (other === undefined) unmatched.add(name)
      // Ratios compare times if the goal is an upper limit, and speeds if it is a lower one.
      else
        ratios.set(name, [
          ...(ratios.get(name) ?? []),
          /^(<|at most)/.test(row.goal) ? row.ratio / other.ratio : other.ratio / row.ratio,
        ])
    }
  }
  for (const [name, list] of ratios) {
    const factor = median(list)
    if (factor > ALLOWED) worse++
    const range = `${Math.min(...list).toFixed(3)} to ${Math.max(...list).toFixed(3)}`
    console.log(`  ${factor > ALLOWED ? 'WORSE ' : '      '} ${factor.toFixed(3)} (${range}) ${name}`)
  }
  if (unmatched.size > 0) console.log(`  only here: ${[...unmatched].join('; ')}`)
}
console.log(`\n${worse} rows worse by more than ${Math.round((ALLOWED - 1) * 100)} %`)
process.exitCode = worse > 0 ? 1 : 0
