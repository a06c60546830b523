// Derives the drawn array from the dataset, lazily, and as code.
import { slice } from 'hyperslab'
import type { DataArray, Dataset } from 'hyperslab/dataset'
import type { Axis, Chosen } from './axes.ts'
import type { Plane, Region } from './plane.ts'
import type { ViewState } from './state.ts'

/** Derivation of a picture: positions of a variable or its climatology, minus others, then a mean. */
export interface Derivation {
  readonly variable: string
  /** Dimension of times and the unit of its groups, if a climatology is drawn. */
  readonly by: { readonly dim: string; readonly unit: string } | undefined
  readonly at: Readonly<Record<string, number>>
  /** Positions that are subtracted. */
  readonly minus: Readonly<Record<string, number>> | undefined
  /** Variable that is subtracted. */
  readonly less: string | undefined
  readonly mean: string | undefined
}

/**
 * Returns the derivation of a state.
 * @param axes axes of the undrawn dimensions, including a dimension of groups
 * @param slow dimension along which differences are computed
 * @param times dimension whose times a climatology groups
 */
export function derivationOf(
  { variable, at, mean, minus, less, by }: ViewState,
  { others }: Pick<Chosen, 'others'>,
  axes: ReadonlyMap<string, Axis>,
  { slow, times }: { readonly slow: string | undefined; readonly times: string | undefined },
): Derivation {
  const positions: Record<string, number> = {}
  for (const dim of others) if (dim !== mean) positions[dim] = Math.min(at[dim] ?? 0, axes.get(dim)!.length - 1)
  const subtracted = minus !== undefined && slow !== undefined && slow in positions
  return {
    variable,
    by: by !== '' && times !== undefined ? { dim: times, unit: by } : undefined,
    at: positions,
    minus: subtracted ? { ...positions, [slow]: Math.min(minus, axes.get(slow)!.length - 1) } : undefined,
    less: less === '' ? undefined : less,
    mean: others.includes(mean) ? mean : undefined,
  }
}

/** Selection along the dimensions of the plane. */
export type Box = Parameters<DataArray['isel']>[0]

/** Returns the selection of a region. Sides without a restriction are omitted. */
export function boxOf({ y, x }: Plane, { from, size, steps }: Region): Box {
  const sides = [y, x].map(({ dim, length }, side) => {
    const isWhole = size[side] === length && steps[side] === 1
    return isWhole ? [] : [[dim, slice(from[side]!, from[side]! + size[side]!, steps[side]!)] as const]
  })
  return Object.fromEntries(sides.flat())
}

/**
 * Most climatologies that are kept: for the drawn and the subtracted variable, and for single cells of both.
 */
const KEPT = 4

/** Creates the drawn arrays, unread. A climatology is computed once for all its groups. */
export class Pictures {
  readonly #climatologies = new Map<string, DataArray>()

  forget(): void {
    this.#climatologies.clear()
  }

  /**
   * Returns the drawn array.
   * @param box selection of a part of the plane
   * @param level level of the dataset, used as a key
   */
  derive(dataset: Dataset, derivation: Derivation, box: Box = {}, level = 0): DataArray {
    const { at, minus, less, mean } = derivation
    const part = (name: string, positions: Readonly<Record<string, number>>): DataArray => {
      const source = this.#source(dataset, name, derivation, box, level)
      const own = within(source, positions)
      return isEmpty(own) ? source : source.isel(own)
    }
    let array = part(derivation.variable, at)
    if (minus !== undefined) array = array.sub(part(derivation.variable, minus))
    if (less !== undefined) array = array.sub(part(less, at))
    return mean === undefined ? array : array.mean({ axis: mean })
  }

  /** Returns a variable or its climatology within the box. */
  #source(dataset: Dataset, name: string, { by, at }: Derivation, box: Box, level: number): DataArray {
    const whole = dataset.get(name)
    const boxed = within(whole, box)
    const part = isEmpty(boxed) ? whole : whole.isel(boxed)
    if (by === undefined || !whole.dims.includes(by.dim)) return part
    // Groups are computed together, at the positions along all other dimensions.
    const { [by.unit]: _, ...rest } = at
    const own = within(part, rest)
    const key = JSON.stringify([level, name, by, own, box])
    const climatology = this.#climatologies.get(key) ?? (isEmpty(own) ? part : part.isel(own)).climatology(by.unit)
    this.#climatologies.delete(key)
    this.#climatologies.set(key, climatology)
    for (const oldest of this.#climatologies.keys()) if (this.#climatologies.size > KEPT) this.#climatologies.delete(oldest)
    return climatology
  }
}

/** Returns the entries for dimensions of an array. */
const within = <T>({ dims }: Pick<DataArray, 'dims'>, said: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(said).filter(([dim]) => dims.includes(dim)))

const isEmpty = (positions: object): boolean => Object.keys(positions).length === 0

/**
 * Returns JavaScript code of the derivation.
 * @param dimsOf returns the dimensions of a variable; the subtracted one may have fewer
 */
export function javascriptOf(
  place: string,
  options: object,
  derivation: Derivation,
  dimsOf: (name: string) => readonly string[],
): string {
  const { variable, by, at, minus, less, mean } = derivation
  const json = (value: unknown): string => JSON.stringify(value)
  const isGrouped = (name: string): boolean => by !== undefined && dimsOf(name).includes(by.dim)
  const source = (name: string): string => `dataset.get(${json(name)})${isGrouped(name) ? `.climatology(${json(by!.unit)})` : ''}`
  const part = (said: string, name: string, positions: Readonly<Record<string, number>>): string => {
    const dims = isGrouped(name) ? dimsOf(name).map((dim) => (dim === by!.dim ? by!.unit : dim)) : dimsOf(name)
    const own = within({ dims }, positions)
    return isEmpty(own) ? said : `${said}.isel(${json(own)})`
  }
  const lines = [
    `import { openDataset } from 'hyperslab/dataset'`,
    '',
    `const dataset = await openDataset(${json(place)}${isEmpty(options) ? '' : `, ${json(options)}`})`,
    `const whole = ${source(variable)}`,
    ...(less === undefined ? [] : [`const other = ${source(less)}`]),
    `const array = ${part('whole', variable, at)}${[
      ...(minus === undefined ? [] : [`.sub(${part('whole', variable, minus)})`]),
      ...(less === undefined ? [] : [`.sub(${part('other', less, at)})`]),
      ...(mean === undefined ? [] : [`.mean({ axis: ${json(mean)} })`]),
    ].join('')}`,
    'const { data, shape } = await array.get()',
    'console.log(shape, data)',
    'await dataset.close()',
    '',
  ]
  return lines.join('\n')
}
