// npm run bench:chart -- RESULTS.json [suite | suite:pattern …] [--svg FILE] [--table]: draws the results of
// `npm run bench -- --json RESULTS.json`, and prints them as a table for docs/speed.md.
// A pattern is a regular expression over "name, peer" of a row.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

/** Rows shown by default: the most common work of each kind, with all its results. */
const CHOICE = [
  'zarrita:, zarrita$',
  'container',
  // Shown next to the row of a single file.
  'remote:^time of .*, sharded\\)$',
  'start',
  'kernels:, float32.*numpy$',
  'lz4:^(decode|encode) .*, 1 MiB \\(',
]
/** More rows do not fit on a page. */
const MOST_ROWS = 48

const WIDTH = 960
const HEAD = 84
const ROW = 18
const GROUP = 30
/** Width of a character of 12 px text, in the widest of the common fonts. */
const CHARACTER = 6.4
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

const STYLE = `
text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.suite { font-weight: 600 }
.dim { fill: #59636e }
.end { text-anchor: end }
.middle { text-anchor: middle }
.page { fill: #ffffff }
.grid { stroke: #d1d9e0 }
.one { stroke: #59636e }
.faster { fill: #54a3ff }
.slower { fill: #e5874a }
.goal { stroke: #1f2328; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.dim { fill: #9198a1 }
.page { fill: #0d1117 }
.grid { stroke: #3d444d }
.one { stroke: #9198a1 }
.faster { fill: #1f6feb }
.slower { fill: #bd561d }
.goal { stroke: #f0f6fc }
}
`

/**
 * Returns how many times as fast as the peer a row is, and the goal. For ratios of times, this is the
 * inverse.
 */
function speedOf({ suite, name, peer, ratio, goal, met }) {
  const [, sense, limit] = /^(>=|at least|<=|at most) ([\d.]+)$/.exec(goal) ?? []
  if (sense === undefined) throw new Error(`${suite}, ${name}: no number to compare with in the goal ${goal}`)
  const inverted = sense === '<=' || sense === 'at most'
  return { suite, name, peer, met, speed: inverted ? 1 / ratio : ratio, goal: inverted ? 1 / limit : Number(limit) }
}

/** Returns the chosen rows that compare speeds, by suite in the order of the choice. */
function groupsOf(results, choice) {
  const patterns = choice.map((chosen) => {
    const [, suite, pattern] = /^([^:]*):?(.*)$/s.exec(chosen)
    return { chosen, suite, pattern: new RegExp(pattern), found: false }
  })
  const groups = new Map(patterns.map(({ suite }) => [suite, []]))
  for (const row of results) {
    const fitting = patterns.filter(({ suite, pattern }) => suite === row.suite && pattern.test(`${row.name}, ${row.peer}`))
    for (const each of fitting) each.found = true
    if (fitting.length > 0 && row.speed !== false) groups.get(row.suite).push(speedOf(row))
  }
  for (const { chosen, found } of patterns) if (!found) console.error(`no row is of ${chosen}`)
  for (const [suite, rows] of groups) if (rows.length === 0) groups.delete(suite)
  const count = [...groups.values()].flat().length
  if (count === 0 || count > MOST_ROWS) throw new Error(`${count} rows are chosen; a chart has 1 to ${MOST_ROWS}`)
  return groups
}

const shown = (speed) => speed.toFixed(speed < 10 ? 2 : speed < 100 ? 1 : 0)
const escaped = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
const label = ({ name, peer }) => `${name} · ${peer}`

function svg(groups) {
  const rows = [...groups.values()].flat()
  const values = rows.flatMap(({ speed, goal }) => [speed, goal])
  const [low, high] = [Math.min(0.5, ...values) / 1.1, Math.max(2, ...values) * 1.1]
  const left = 24 + CHARACTER * Math.max(...rows.map((row) => label(row).length))
  const right = WIDTH - 64
  const x = (speed) => (left + ((right - left) * Math.log(speed / low)) / Math.log(high / low)).toFixed(1)
  const height = HEAD + groups.size * GROUP + rows.length * ROW + 36
  const bottom = height - 30
  const parts = [`<rect class="page" width="${WIDTH}" height="${height}" rx="6"/>`, ...legend()]

  // If there are many decades, only the powers of ten have room.
  const steps = STEPS.filter((step) => step > low && step < high && (high / low < 400 || Number.isInteger(Math.log10(step))))
  for (const step of steps) {
    parts.push(`<path class="${step === 1 ? 'one' : 'grid'}" d="M${x(step)} ${HEAD}V${bottom}"/>`)
    for (const y of [HEAD - 4, bottom + 16]) parts.push(`<text class="dim middle" x="${x(step)}" y="${y}">${step}</text>`)
  }
  let y = HEAD
  for (const [suite, members] of groups) {
    parts.push(`<text class="suite" x="16" y="${y + 21}">${escaped(suite)}</text>`)
    y += GROUP
    for (const row of members) {
      const [from, to] = [x(Math.min(row.speed, 1)), x(Math.max(row.speed, 1))]
      const kind = row.speed < 1 ? 'slower' : 'faster'
      parts.push(
        `<text x="16" y="${y + 12}">${escaped(row.name)} <tspan class="dim">· ${escaped(row.peer)}</tspan></text>`,
        `<rect class="${kind}" x="${from}" y="${y + 2}" width="${(to - from).toFixed(1)}" height="12"/>`,
        `<path class="goal" d="M${x(row.goal)} ${y}v16"/>`,
        `<text class="end" x="${WIDTH - 16}" y="${y + 12}">${shown(row.speed)}</text>`,
      )
      y += ROW
    }
  }
  const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`
  const title = '<title>Speed of hyperslab beside others</title>'
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">\n${title}\n<style>${STYLE}</style>\n${parts.join('\n')}\n</svg>\n`
}

function legend() {
  return [
    '<text class="title" x="16" y="30">Speed of hyperslab beside others</text>',
    '<text class="dim" x="16" y="54">times as fast as the peer, which stands behind the dot; right of 1 is faster (logarithmic)</text>',
    `<rect class="faster" x="${WIDTH - 210}" y="44" width="12" height="12"/><text x="${WIDTH - 193}" y="54">faster</text>`,
    `<rect class="slower" x="${WIDTH - 140}" y="44" width="12" height="12"/><text x="${WIDTH - 123}" y="54">slower</text>`,
    `<path class="goal" d="M${WIDTH - 62} 42v16"/><text x="${WIDTH - 52}" y="54">goal</text>`,
  ]
}

function table(groups) {
  const cells = (list) => `| ${list.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  const rows = [...groups.values()].flat()
  return [
    cells(['suite', 'what', 'beside', 'times as fast', 'goal']),
    '|---|---|---|---:|---:|',
    ...rows.map(({ suite, name, peer, speed, goal, met }) =>
      cells([`\`${suite}\``, name, peer, shown(speed), `${shown(goal)}${met ? '' : ', missed'}`]),
    ),
  ].join('\n')
}

const { values, positionals } = parseArgs({
  options: { svg: { type: 'string' }, table: { type: 'boolean' } },
  allowPositionals: true,
})
const [file, ...choice] = positionals
try {
  if (file === undefined) throw new Error('which results? npm run bench -- --json FILE writes them')
  const groups = groupsOf(JSON.parse(readFileSync(file, 'utf8')), choice.length > 0 ? choice : CHOICE)
  if (values.svg !== undefined) writeFileSync(values.svg, svg(groups))
  if (values.table) console.log(table(groups))
} catch (error) {
  console.error(error.message)
  process.exitCode = 2
}
