import { Option } from 'commander'
import type { DiskArray } from '../array/disk-array.ts'
import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import { dimensionsOf } from '../copy/stored-arrays.ts'
import type { DType } from '../core/dtype.ts'
import { HyperslabError, isHyperslabError, within } from '../core/errors.ts'
import { withoutNuls } from '../core/text.ts'
import { plainAttrs } from '../dataset/attributes.ts'
import { axisKindOf } from '../dataset/cf/axis-kind.ts'
import { boundsOf, decodeBounds } from '../dataset/cf/bounds.ts'
import type { RawVariable } from '../dataset/cf/decode.ts'
import type { Coords } from '../dataset/coords.ts'
import { Dataset } from '../dataset/dataset.ts'
import type { Taken } from '../dataset/label-selectors.ts'
import { showInstant } from '../dataset/time/instant.ts'
import { decodeTimes, type TimeUnits } from '../dataset/time/units.ts'
import { Variable } from '../dataset/variable.ts'
import { resolveFor } from './excerpt.ts'
import { UsageError } from './failure.ts'
import type { Result } from './format.ts'
import { checkLabelOptions, type LabelOptions, takenByLabels } from './labels.ts'
import { printable } from './output.ts'
import type { Place, PlacedArray } from './place.ts'
import { parseSelection } from './selection.ts'

/** Options of commands that show values. */
export interface RawOption {
  readonly raw?: boolean
}

export const rawOption = () =>
  new Option('--raw', 'values as they are stored: the CF conventions for missing values, scaling and times are not applied')

/** A selected part of an array, with its selections along dimensions. */
export interface SelectedPart {
  /** Selected values, decoded unless stored ones were requested. */
  readonly variable: Variable
  /** Distinct names of the axes of the whole array. */
  readonly dims: readonly string[]
  /** Selections, by dimension. */
  readonly taken: ReadonlyMap<string, Taken>
}

/**
 * Selects a part of an array for display.
 * @param text positions, as in `get`
 * @throws UsageError for an axis that is selected twice; errors of decoding, which name the option that shows
 *   stored values
 */
export async function selectArray(
  place: Place,
  placed: PlacedArray,
  text: string,
  { raw = false, ...labels }: LabelOptions & RawOption,
): Promise<SelectedPart> {
  const { name, array } = placed
  checkLabelOptions(labels)
  const dims = dimensionsOf(array)
  const selectors = parseSelection(text, array.shape.length) as readonly unknown[]
  const axes = resolveFor(array, selectors as never)
  const whole = raw ? rawVariable(placed) : await decoded(place, placed)
  return within({ file: place.location, array: name }, async () => {
    const taken = new Map<string, Taken>()
    for (const [axis, { start, step, length, keep }] of axes.entries()) {
      if ((selectors[axis] ?? null) === null) continue
      if (labels.sel?.has(dims[axis]!))
        throw new UsageError(`${dims[axis]} is selected twice: by --sel, and by position, of which : takes all`)
      taken.set(dims[axis]!, keep ? { parts: [{ positions: { start, step, length }, shift: 0 }] } : { position: start })
    }
    if (labels.sel !== undefined) {
      const coords = await coordinatesOf(place, placed, { prefer: 'own' })
      for (const [dim, each] of takenByLabels(coords, dims, labels)) taken.set(dim, each)
    }
    return { variable: whole.take(taken), dims, taken }
  })
}

const rawOf = ({ name, array }: PlacedArray): RawVariable => ({ name, array, dims: dimensionsOf(array) })

const rawVariable = (placed: PlacedArray): Variable => {
  const raw = rawOf(placed)
  return new Variable({ ...raw, attrs: plainAttrs(raw.array.attrs) })
}

/** Decodes an array by the CF conventions. Bounds have the units of the variable that they bound. */
async function decoded(place: Place, placed: PlacedArray): Promise<Variable> {
  const { array, name } = placed
  const of =
    array.shape.length > 1 && array.attrs?.get('units') === undefined
      ? (await place.arraysBeside(placed)).find((each) => boundsOf(rawOf(each)).includes(lastName(name)))
      : undefined
  try {
    return decodedVariable(placed, of)
  } catch (error) {
    if (!isHyperslabError(error)) throw error
    const { message } = error.within({ file: place.location, array: name })
    throw new HyperslabError(error.tag, `${message}; --raw shows the stored values`, { cause: error })
  }
}

/** @throws errors of CF decoding */
export const decodedVariable = (placed: PlacedArray, bounded?: PlacedArray): Variable =>
  new Variable(decodeBounds(rawOf(placed), bounded && rawOf(bounded)))

/** Returns a textual attribute, without the NULs that some writers append. */
export function textAttribute({ attrs }: Pick<DiskArray, 'attrs'>, name: string): string | undefined {
  const value = attrs?.get(name)
  const text = typeof value === 'string' ? printable(withoutNuls(value).trim()) : ''
  return text === '' ? undefined : text
}

const lastName = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** Returns the group of an array with a slash at the end; empty for the root group. */
const groupOf = (name: string): string => name.slice(0, name.lastIndexOf('/') + 1)

/**
 * Returns the coordinate of each axis by dimension, with its labels in memory. A coordinate is a
 * one-dimensional array along the axis, in the same group or in one above. It has the name of the dimension,
 * defines a direction, or is listed by the array. Its units, its standard name or the attribute `axis` define
 * a direction. Among several candidates, `prefer` selects the dimension's own (`own`) or one with a direction
 * (`direction`). Among equals the nearest group wins. Candidates that cannot be decoded are ignored.
 */
export async function coordinatesOf(
  place: Place,
  placed: PlacedArray,
  { prefer }: { readonly prefer: 'own' | 'direction' },
): Promise<Coords> {
  const beside = await place.arraysBeside(placed)
  const named = textAttribute(placed.array, 'coordinates')?.split(/\s+/) ?? []
  const names = new Map<string, string>()
  const variables = dimensionsOf(placed.array).flatMap((dim, axis): RawVariable[] => {
    const along = beside.filter(({ name, array }) => {
      if (array.shape.length !== 1 || array.shape[0] !== placed.array.shape[axis]) return false
      if (typeof array.dtype !== 'string' || array.dtype === 'binary' || array.dtype === 'bool') return false
      return placed.name.startsWith(groupOf(name)) && (lastName(name) === dim || array.dimensionNames?.[0] === dim)
    })
    const rank = ({ name, array }: PlacedArray): number => {
      const isOwn = lastName(name) === dim
      if (isOwn && prefer === 'own') return 5
      if (tellsDirection({ name, array })) return isOwn ? 4 : 3
      return isOwn ? 2 : named.includes(lastName(name)) ? 1 : 0
    }
    const depth = ({ name }: PlacedArray): number => groupOf(name).length
    const [best] = along.filter((each) => rank(each) > 0).sort((a, b) => rank(b) - rank(a) || depth(b) - depth(a))
    if (best === undefined) return []
    names.set(dim, lastName(best.name))
    return [{ name: dim, array: best.array, dims: [dim] }]
  })
  const { coords } = await Dataset.from({ variables })
  return new Map(Object.entries(coords).map(([dim, { variable }]) => [dim, variable.with({ name: names.get(dim)! })]))
}

function tellsDirection({ name, array }: PlacedArray): boolean {
  if (textAttribute(array, 'axis') !== undefined) return true
  const kind = axisKindOf(lastName(name), plainAttrs(array.attrs))
  return kind === 'latitude' || kind === 'longitude'
}

/** Formats of missing elements and times, which are not printed as stored. */
export type Shown = Pick<Result, 'isMissing' | 'dates'>

/** Returns the formats of the elements of an array. Stored elements (`raw`) have none. */
export function shownAs({ array, times }: Variable, { raw = false }: RawOption): Shown {
  if (raw) return {}
  const test = missingTest(missingElements(array.source))
  return { ...(test && { isMissing: test }), ...datesOf(array.dtype, times) }
}

function datesOf(dtype: DType, times: TimeUnits | undefined): Pick<Result, 'dates'> {
  const calendar = times?.calendar ?? 'standard'
  if (dtype === 'timestamp_ns') return { dates: { calendar, show: (element) => showInstant(element as bigint, calendar) } }
  if (times === undefined) return {}
  return { dates: { calendar, show: (element) => showInstant(decodeTimes([element as number], times)[0]!, calendar) } }
}
