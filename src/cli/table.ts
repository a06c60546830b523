import { printable } from './printable.ts'

export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
}

/** Rows in aligned columns under their titles; columns without any content are left out. */
export function table(columns: readonly Column[], raw: readonly (readonly string[])[], indent = '  '): string[] {
  // Before their widths are measured.
  const rows = raw.map((cells) => cells.map(printable))
  const used = columns.map((_, i) => rows.some((row) => row[i] !== ''))
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)))
  const line = (cells: readonly string[]): string =>
    indent +
    cells
      .map((cell, i) => (columns[i]!.align === 'right' ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .filter((_, i) => used[i])
      .join('  ')
      .trimEnd()
  return [line(columns.map(({ title }) => title)), ...rows.map(line)]
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

export function showBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return unit === 0 ? `${bytes} B` : `${value.toFixed(1)} ${UNITS[unit]}`
}

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
