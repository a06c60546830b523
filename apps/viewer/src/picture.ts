// What is drawn as a lazy array of the dataset, and the same as code.
import type { DataArray, Dataset } from 'hyperslab/dataset'
import type { Axis, Chosen } from './axes.ts'
import type { ViewState } from './state.ts'

/** How a picture follows from a variable: positions along dimensions, then a mean along one, or a difference. */
interface Derivation {
  readonly variable: string
  readonly at: Readonly<Record<string, number>>
  readonly mean: string | undefined
  /** Positions of what is subtracted. */
  readonly minus: Readonly<Record<string, number>> | undefined
}

/** @param slow the dimension that differences are taken along */
export function derivationOf(
  { variable, at, mean, minus }: ViewState,
  { others }: Pick<Chosen, 'others'>,
  axes: ReadonlyMap<string, Axis>,
  slow: string | undefined,
): Derivation {
  const positions: Record<string, number> = {}
  for (const dim of others) if (dim !== mean) positions[dim] = Math.min(at[dim] ?? 0, axes.get(dim)!.length - 1)
  const subtracted = minus !== undefined && slow !== undefined && slow in positions
  return {
    variable,
    at: positions,
    mean: others.includes(mean) ? mean : undefined,
    minus: subtracted ? { ...positions, [slow]: Math.min(minus, axes.get(slow)!.length - 1) } : undefined,
  }
}

/** The array that is drawn; nothing of it is read yet. */
export function derive(dataset: Dataset, { variable, at, mean, minus }: Derivation): DataArray {
  const whole = dataset.get(variable)
  const part = isEmpty(at) ? whole : whole.isel(at)
  const difference = minus === undefined ? part : part.minus(whole.isel(minus))
  return mean === undefined ? difference : difference.mean({ axis: mean })
}

/** The same as a program of JavaScript. */
export function javascriptOf(place: string, { variable, at, mean, minus }: Derivation): string {
  const part = (positions: Readonly<Record<string, number>>): string =>
    isEmpty(positions) ? 'whole' : `whole.isel(${JSON.stringify(positions)})`
  const difference = minus === undefined ? part(at) : `${part(at)}.minus(${part(minus)})`
  return `import { openDataset } from 'hyperslab/dataset'

const dataset = await openDataset(${JSON.stringify(place)})
const whole = dataset.get(${JSON.stringify(variable)})
const array = ${difference}${mean === undefined ? '' : `.mean({ axis: ${JSON.stringify(mean)} })`}
const { data, shape } = await array.get()
console.log(shape, data)
await dataset.close()
`
}

const isEmpty = (positions: Readonly<Record<string, number>>): boolean => Object.keys(positions).length === 0
