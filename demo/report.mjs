const steps = []
let running

/** Starts a step with its heading. */
export function step(title) {
  finish()
  running = { title, start: performance.now() }
  const number = `${steps.length + 1}. `
  console.log(`\n${number}${title}\n${'-'.repeat(number.length + title.length)}`)
}

function finish() {
  if (running !== undefined) steps.push({ title: running.title, ms: performance.now() - running.start })
  running = undefined
}

/** Ends the demo: how long each step took. */
export function summary() {
  finish()
  const width = Math.max(...steps.map(({ title }) => title.length))
  const total = steps.reduce((sum, { ms }) => sum + ms, 0)
  const line = (title, ms) => `  ${title.padEnd(width)}  ${ms.toFixed(0).padStart(6)} ms`
  console.log(`\nTime taken\n----------`)
  for (const { title, ms } of steps) console.log(line(title, ms))
  console.log(line('all', total))
}

/** A result that does not hold ends the demo. */
export class CheckFailed extends Error {}

export function check(holds, claim, found = '') {
  if (!holds) throw new CheckFailed(`${claim}: this does not hold${found === '' ? '' : ` (${found})`}`)
  console.log(`  checked: ${claim}`)
}

/** Rows in columns, numbers to the right. */
export function table(rows) {
  const text = rows.map((row) => row.map(String))
  const widths = text[0].map((_, i) => Math.max(...text.map((row) => row[i].length)))
  const isNumber = text[0].map((_, i) => text.slice(1).every((row) => /^[-+\d.,]/.test(row[i])))
  for (const row of text)
    console.log(
      `  ${row.map((cell, i) => (isNumber[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join('  ')}`.trimEnd(),
    )
}

export const kib = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`
