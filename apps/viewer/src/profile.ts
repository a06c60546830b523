import type { Axis } from './axes.ts'

/** Values along a dimension. */
export interface Profile {
  readonly axis: Axis
  readonly values: ArrayLike<number>
  readonly name: string
  readonly units: string
}

/** A profile as a table of comma-separated values, with a header that names what is in it. */
export function csvOf({ axis, values, name, units }: Profile): string {
  const quoted = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  // Labels of a spreadsheet are no formulas, whatever the file calls them.
  const cell = (text: string): string => quoted(/^[=+@]/.test(text) ? `'${text}` : text)
  const lines = Array.from({ length: values.length }, (_, i) =>
    [cell(axis.label(i)), Number.isNaN(values[i]!) ? '' : String(values[i])].join(','),
  )
  return [[cell(axis.dim), cell(units === '' ? name : `${name} (${units})`)].join(','), ...lines, ''].join('\n')
}
