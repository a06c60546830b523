// The outcome, for the terminal and for docs/runtimes.md.
import { readFileSync, writeFileSync } from 'node:fs'

export const failuresOf = ({ cells = [] }) =>
  cells.flatMap((cell) =>
    cell.results.filter(({ error }) => error !== undefined).map(({ name, error }) => ({ cell: cell.name, name, error })),
  )

/** Enough of an error to see what it is. */
export const excerpt = (text) => text.split('\n').slice(0, 12).join('\n')

const checksOf = ({ cells = [] }) => cells.reduce((sum, { results }) => sum + results.length, 0)

/** One line a row, for the terminal. */
export function summary(rows) {
  const lines = rows.map((row) => [row.name, row.version ?? '', verdict(row), `${row.seconds.toFixed(1)} s`])
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((line) => line[column].length)))
  return lines.map((line) => line.map((text, column) => text.padEnd(widths[column])).join('  ')).join('\n')
}

function verdict(row) {
  if (row.skipped !== undefined) return `skipped: ${row.skipped.split('\n')[0]}`
  if (row.failed !== undefined) return `FAILED: ${row.failed.split('\n')[0]}`
  const failures = failuresOf(row).length
  return failures > 0 ? `FAILED: ${failures} of ${checksOf(row)} checks` : `passes, ${checksOf(row)} checks`
}

const MARKERS = /<!-- runtimes -->[\s\S]*?<!-- \/runtimes -->/

/** Writes the rows between the markers of a page; appends a section with them when there are none. */
export function writeTable(file, rows) {
  const text = readFileSync(file, 'utf8')
  const table = `<!-- runtimes -->\n${markdown(rows.filter(({ name }) => name !== 'package'))}\n<!-- /runtimes -->`
  writeFileSync(file, MARKERS.test(text) ? text.replace(MARKERS, () => table) : `${text}\n## Runtimes\n\n${table}\n`)
}

function markdown(rows) {
  const head = ['Environment', 'Version', 'Loaded as', 'Stores', 'Result']
  const lines = rows.map((row) => [row.label ?? row.name, row.version ?? '', waysOf(row), row.stores ?? '', outcome(row)])
  const table = [head, head.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n')
  const built = rows.find((row) => row.built !== undefined)?.built
  return built === undefined ? table : `${table}\n\nBundlers, without configuration: ${built}.`
}

/** Pages and workers are one way when both pass. */
function waysOf({ cells = [] }) {
  const ways = [...new Set(cells.map(({ name }) => name.replace(/, (page|worker)$/, '')))]
  const both = cells.some(({ name }) => name.endsWith(', worker'))
  return (both ? 'page and module worker: ' : '') + ways.join('; ')
}

function outcome(row) {
  if (row.skipped !== undefined) return 'not run'
  if (row.failed !== undefined) return 'fails'
  const failed = new Set(failuresOf(row).map(({ cell }) => cell))
  return failed.size > 0 ? `fails: ${[...failed].join('; ')}` : `passes (${checksOf(row)} checks)`
}
