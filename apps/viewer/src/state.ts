// State of the page, which its address contains, so that a link opens the same picture.
import type { ColourChoice } from './colours.ts'

/** Unit of the groups of a climatology, a part of a year or a day. */
export type ClimatologyUnit = '' | 'month' | 'season' | 'hour'
export type LimitsChoice = 'all' | 'shown' | 'percentiles' | 'own'
export type ProjectionName = 'plate-carree' | 'equal-earth'

/** Choice of the picture, and how it is drawn. */
export interface ViewState {
  /** Address of the dataset; empty for local files, which no link can open. */
  url: string
  /** Paths of the arrays in a Zarr store that cannot be listed, between commas; empty if it can. */
  names: string
  /** Only level of a pyramid that is shown. Default: the zoom chooses levels. */
  level: number | undefined
  /** Path of the shown group; empty for the place itself. */
  group: string
  variable: string
  /** Position along each undrawn dimension. Default: 0. */
  at: Record<string, number>
  /** Unit that groups times into a climatology; empty for plain times. */
  by: ClimatologyUnit
  /** Dimension along which means are computed. */
  mean: string
  /** Position along the slow dimension that is subtracted. */
  minus: number | undefined
  /** Variable that is subtracted. */
  less: string
  colours: ColourChoice
  limits: LimitsChoice
  low: number | undefined
  high: number | undefined
  keep: boolean
  symmetric: boolean
  log: boolean
  projection: ProjectionName
  /** Middle of the visible part in units of the axes, and the magnification. */
  x: number | undefined
  y: number | undefined
  zoom: number
  /** Row and column of the cell with profiles. */
  cell: readonly [row: number, column: number] | undefined
}

export const START: ViewState = {
  url: '',
  names: '',
  level: undefined,
  group: '',
  variable: '',
  at: {},
  by: '',
  mean: '',
  minus: undefined,
  less: '',
  colours: 'auto',
  limits: 'all',
  low: undefined,
  high: undefined,
  keep: true,
  symmetric: false,
  log: false,
  projection: 'plate-carree',
  x: undefined,
  y: undefined,
  zoom: 1,
  cell: undefined,
}

const POSITION = 'at.'

/** Returns the query of an address, which contains only differences from {@link START}. */
export function queryOf(state: ViewState): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(state)) {
    if (name === 'at') continue
    if (value !== START[name as keyof ViewState] && value !== undefined) query.set(name, String(value))
  }
  for (const [dim, position] of Object.entries(state.at)) if (position !== 0) query.set(POSITION + dim, String(position))
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

/**
 * Parses a query. Invalid values are replaced by those of {@link START}, because links may contain anything.
 */
export function stateOf(search: string): ViewState {
  const query = new URLSearchParams(search)
  const number = (name: string): number | undefined => {
    const text = query.get(name)
    return text !== null && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined
  }
  const oneOf = <T extends string>(name: string, known: readonly T[]): T => {
    const text = query.get(name) as T
    return known.includes(text) ? text : known[0]!
  }
  const at: Record<string, number> = {}
  for (const name of query.keys()) {
    const position = number(name)
    if (name.startsWith(POSITION) && Number.isInteger(position) && position! >= 0) at[name.slice(POSITION.length)] = position!
  }
  const minus = number('minus')
  const level = number('level')
  const cell = (query.get('cell') ?? '').split(',').map(Number)
  return {
    url: query.get('url') ?? '',
    names: query.get('names') ?? '',
    level: Number.isInteger(level) && level! >= 0 ? level : undefined,
    group: query.get('group') ?? '',
    variable: query.get('variable') ?? '',
    at,
    by: oneOf('by', ['', 'month', 'season', 'hour']),
    mean: query.get('mean') ?? '',
    minus: Number.isInteger(minus) && minus! >= 0 ? minus : undefined,
    less: query.get('less') ?? '',
    colours: oneOf('colours', ['auto', 'viridis', 'cividis', 'diverging', 'cyclic']),
    limits: oneOf('limits', ['all', 'shown', 'percentiles', 'own']),
    low: number('low'),
    high: number('high'),
    keep: query.get('keep') !== 'false',
    symmetric: query.get('symmetric') === 'true',
    log: query.get('log') === 'true',
    projection: oneOf('projection', ['plate-carree', 'equal-earth']),
    x: number('x'),
    y: number('y'),
    zoom: Math.min(64, Math.max(1, number('zoom') ?? 1)),
    cell: cell.length === 2 && cell.every((each) => Number.isInteger(each) && each >= 0) ? [cell[0]!, cell[1]!] : undefined,
  }
}
