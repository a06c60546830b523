import type { Axis } from './axes.ts'

/** Values along a dimension. */
export interface Profile {
  readonly axis: Axis
  readonly values: ArrayLike<number>
  readonly name: string
  readonly units: string
}

/** Formats a profile as comma-separated values, with a header. */
export function csvOf({ axis, values, name, units }: Profile): string {
  const quoted = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  // A prefix keeps spreadsheets from reading labels of the file as formulas.
  const cell = (text: string): string => quoted(/^[=+@]/.test(text) ? `'${text}` : text)
  const lines = Array.from({ length: values.length }, (_, i) =>
    [cell(axis.label(i)), Number.isNaN(values[i]!) ? '' : String(values[i])].join(','),
  )
  return [[cell(axis.dim), cell(units === '' ? name : `${name} (${units})`)].join(','), ...lines, ''].join('\n')
}
