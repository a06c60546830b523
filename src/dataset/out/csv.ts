import { type Checks, checkOptions } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'
import type { Coords } from '../coords.ts'
import { NAT, showInstant } from '../time/instant.ts'
import type { Variable } from '../variable.ts'
import { type LongColumn, longForm } from './long-form.ts'

/** Options of tables. */
export interface TableOptions {
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

export const TABLE_CHECKS: Checks<TableOptions> = { signal: 'AbortSignal' }

/** Implements {@link Dataset.toCSV}. */
export async function* writeCsv(
  variables: readonly Variable[],
  coords: Coords,
  options: TableOptions,
): AsyncGenerator<string, void, undefined> {
  checkOptions('toCSV', options, TABLE_CHECKS)
  const { columns, rows } = longForm(variables, coords)
  yield `${columns.map(({ name }) => quoted(name)).join(',')}\n`
  const shows = columns.map(showFor)
  for await (const { count, columns: values } of rows(options.signal)) {
    const lines = new Array<string>(count)
    for (let row = 0; row < count; row++) lines[row] = shows.map((show, i) => show(values[i]![row])).join(',')
    yield `${lines.join('\n')}\n`
  }
}

/** Quotes a field by RFC 4180. Empty text is quoted, too, which distinguishes it from missing values. */
const quoted = (text: string): string => (text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Returns the function that formats a value of a column; missing values become empty. */
function showFor({ dtype, calendar }: LongColumn): (value: unknown) => string {
  const show = (value: unknown): string => {
    if (calendar !== undefined) return value === NAT ? '' : showInstant(value as bigint, calendar)
    if (dtype === 'float32') return shortest(value as number)
    return typeof value === 'string' ? quoted(value) : String(value)
  }
  return (value) => (value === undefined || Number.isNaN(value) ? '' : show(value))
}

/** Formats a float32 with as few digits as it needs. */
function shortest(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return String(short)
  }
  return String(Number(value.toPrecision(9)))
}
