import { zipBlocks } from '../../array/combine.ts'
import type { DiskArray } from '../../array/disk-array.ts'
import type { NamedValues } from '../../array/source.ts'
import { type DType, isFixed, readElement } from '../../core/dtype.ts'
import { within } from '../../core/errors.ts'
import { writeJson } from '../../core/json.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { sameShape, showShape } from '../../core/shape.ts'
import type { DataArray } from '../data-array.ts'
import { type ElementFormat, elementFormat } from './element-format.ts'
import type { LabelledTree } from './labelled-tree.ts'
import { listDimensions, type TreeArray } from './tree-array.ts'

/** Options of `diffTrees`. */
export interface DiffTreesOptions {
  /** Largest difference of values that count as equal. Default: 0. */
  readonly tolerance?: number
  /** Additional tolerance, as a part of the second value. Default: 0. */
  readonly relative?: number
  /** Names of the arrays to compare. Default: all, and the attributes of groups. */
  readonly variables?: readonly string[]
  /** Whether elements are compared as they are stored, without the CF conventions. Default: false. */
  readonly raw?: boolean
}

const CHECKS: Checks<DiffTreesOptions> = {
  tolerance: 'number from 0',
  relative: 'number from 0',
  variables: 'list of strings',
  raw: 'boolean',
}

/**
 * A difference between two trees. `first` or `second` is undefined if one of them lacks the item.
 */
export interface TreeDifference {
  /** Name of the array or the group; undefined for the place itself. */
  readonly array?: string
  /** Compared item: `array`, `type`, `dimensions`, `shape`, `attribute units`, `values`. */
  readonly what: string
  /** The item of the first tree, as text. */
  readonly first?: string | undefined
  /** The item of the second tree, as text. */
  readonly second?: string | undefined
  /** Summary of the elements that differ. */
  readonly values?: DifferentValues
}

/** Elements of two arrays that differ. */
export interface DifferentValues {
  /** Number of elements that differ. */
  readonly different: number
  /** Number of elements in all. */
  readonly of: number
  /** Position of the first element with the largest difference. Only numbers have a distance. */
  readonly at: readonly number[]
  /** Largest difference. */
  readonly distance?: number
  /** The element of the first array. */
  readonly first: DifferentElement
  /** The element of the second array. */
  readonly second: DifferentElement
}

/** An element with its formats. Without `element`, the types cannot be compared. */
export interface DifferentElement extends ElementFormat {
  /** Data type of the array. */
  readonly dtype: DType
  /** The element; omitted if the types cannot be compared. */
  readonly element?: unknown
}

/**
 * Compares two trees of any format: arrays, dimensions, types, attributes and values, a few chunks at a time.
 * Chunks, codecs and layers may differ. A missing element only equals a missing one, and NaN equals NaN.
 * @throws UnknownArrayError for unknown variables; UnsupportedError if groups cannot be listed; errors of
 *   reading
 * @example
 * await using a = new LabelledTree(await openTree('climate.af'))
 * await using b = new LabelledTree(await openTree('climate.af'))
 * console.log(await diffTrees(a, b)) // []
 */
export async function diffTrees(a: LabelledTree, b: LabelledTree, options: DiffTreesOptions = {}): Promise<TreeDifference[]> {
  checkOptions('diffTrees', options, CHECKS)
  const { variables } = options
  const [first, second] = [await a.contents(), await b.contents()]
  const [ofFirst, ofSecond] = [first, second].map(({ arrays }) => new Map(arrays.map((each) => [each.name, each])))
  for (const name of variables ?? []) if (!ofFirst!.has(name)) await b.array(name)
  const isWanted = (name: string): boolean => variables?.includes(name) ?? true
  const found: TreeDifference[] = []
  for (const name of new Set([...ofFirst!.keys(), ...ofSecond!.keys()].filter(isWanted))) {
    const [one, other] = [ofFirst!.get(name), ofSecond!.get(name)]
    if (one === undefined || other === undefined) {
      const shown = (each: TreeArray | undefined) => each && `${each.array.dtype} ${showShape(each.array.shape)}`
      found.push({ array: name, what: 'array', first: shown(one), second: shown(other) })
    } else found.push(...(await ofArrays([a, one], [b, other], options)))
  }
  if (variables !== undefined) return found
  for (const path of new Set([...first.groups.keys(), ...second.groups.keys()])) {
    const attributes = ofAttributes(first.groups.get(path), second.groups.get(path))
    found.push(...attributes.map((each) => (path === '' ? each : { ...each, array: path })))
  }
  return found
}

type Side = readonly [tree: LabelledTree, array: TreeArray]

async function ofArrays([a, one]: Side, [b, other]: Side, options: DiffTreesOptions): Promise<TreeDifference[]> {
  const found: TreeDifference[] = []
  const add = (what: string, first: string, second: string): void => {
    if (first !== second) found.push({ array: one.name, what, first, second })
  }
  add('type', one.array.dtype, other.array.dtype)
  add('dimensions', listDimensions(one.array).join(', '), listDimensions(other.array).join(', '))
  add('shape', showShape(one.array.shape), showShape(other.array.shape))
  found.push(...ofAttributes(one.array.attrs, other.array.attrs).map((each) => ({ ...each, array: one.name })))
  if (!sameShape(one.array.shape, other.array.shape)) return found
  const { raw = false } = options
  const arrays = await Promise.all([
    within({ file: a.location, array: one.name }, () => a.dataArray(one, { raw })),
    within({ file: b.location, array: other.name }, () => b.dataArray(other, { raw })),
  ])
  const values = await within({ file: b.location, array: one.name }, () => ofValues(...arrays, options))
  if (values !== undefined) found.push({ array: one.name, what: 'values', values })
  return found
}

/** Compares attributes by value. Types do not count, because JSON has fewer of them. */
function ofAttributes(first: NamedValues | undefined, second: NamedValues | undefined): TreeDifference[] {
  const show = (attrs: NamedValues | undefined, name: string): string | undefined => {
    const value = attrs?.get(name)
    if (value === undefined) return undefined
    const list = ArrayBuffer.isView(value) ? Array.from(value as Uint8Array) : value
    // Classic NetCDF does not distinguish a list of one number from the number.
    return writeJson(Array.isArray(list) && list.length === 1 ? list[0] : list)
  }
  const names = new Set([...(first?.keys() ?? []), ...(second?.keys() ?? [])])
  // Formats store missing values differently. Comparing the values shows which are missing.
  names.delete('_FillValue')
  return [...names].flatMap((name) => {
    const [one, other] = [show(first, name), show(second, name)]
    return one === other ? [] : [{ what: `attribute ${name}`, first: one, second: other }]
  })
}

/** Whether two types can be compared by difference. Texts and bytes only equal their own type. */
const isComparable = (a: DType, b: DType): boolean => a === b || (isFixed(a) && isFixed(b))

/** The largest difference so far. */
interface Most {
  readonly distance: number
  readonly at: readonly number[]
  readonly elements: readonly [unknown, unknown]
}

/** Compares the elements of two arrays of one shape, block by block. */
async function ofValues(a: DataArray, b: DataArray, options: DiffTreesOptions): Promise<DifferentValues | undefined> {
  const [one, other] = [a.array, b.array]
  const [first, second] = [a, b].map((each) => ({ dtype: each.dtype, ...(options.raw ? {} : elementFormat(each)) }))
  const { size } = one
  if (!isComparable(one.dtype, other.dtype))
    return { different: size, of: size, at: [], first: { dtype: one.dtype }, second: { dtype: other.dtype } }
  const measureDistance = distances([first!, second!], options)
  let different = 0
  let most: Most | undefined
  for await (const { box, data } of zipBlocks([one, other])) {
    const [left, right] = [data[0]!, data[1]!]
    const { length } = left.data
    for (let i = 0; i < length; i++) {
      const distance = measureDistance(left.data[i], right.data[i])
      if (distance === 0) continue
      different++
      if (most !== undefined && distance <= most.distance) continue
      const elements = [elementAt(one, left.data, i), elementAt(other, right.data, i)] as const
      most = { distance, at: positionIn(box, left.shape, i), elements }
    }
  }
  if (most === undefined) return undefined
  return {
    different,
    of: size,
    at: most.at,
    ...(Number.isFinite(most.distance) && { distance: most.distance }),
    first: { ...first!, element: most.elements[0] },
    second: { ...second!, element: most.elements[1] },
  }
}

const elementAt = ({ dtype }: DiskArray, data: unknown, i: number): unknown => readElement(dtype, data as never, i)

/** Returns the position of element `i` of a block. */
function positionIn(
  box: readonly { readonly start: number; readonly step: number }[],
  shape: readonly number[],
  i: number,
): readonly number[] {
  let rest = i
  const at = box.map(() => 0)
  for (let axis = box.length - 1; axis >= 0; axis--) {
    const [{ start, step }, along] = [box[axis]!, shape[axis]!]
    at[axis] = start + (rest % along) * step
    rest = Math.floor(rest / along)
  }
  return at
}

/**
 * Returns a function that computes the distance of two elements: 0 for those that count as equal, and
 * infinite for those without a distance.
 */
function distances(
  [one, other]: readonly [ElementFormat, ElementFormat],
  { tolerance = 0, relative = 0 }: DiffTreesOptions,
): (x: unknown, y: unknown) => number {
  const [missingOne, missingOther] = [one, other].map(({ isMissing }) => isMissing ?? ((): boolean => false))
  return (x, y) => {
    const [noX, noY] = [missingOne!(x), missingOther!(y)]
    if (noX && noY) return 0
    if (noX || noY) return Number.POSITIVE_INFINITY
    if (x === y || (Number.isNaN(x) && Number.isNaN(y))) return 0
    const distance = between(x, y)
    if (Number.isFinite(distance)) return distance <= tolerance + relative * Math.abs(Number(y)) ? 0 : distance
    // NaN has no distance and counts as the largest difference.
    return Number.POSITIVE_INFINITY
  }
}

/** Returns the distance of two values; infinite for different texts. */
function between(x: unknown, y: unknown): number {
  if (typeof x === 'bigint' && typeof y === 'bigint') return Math.abs(Number(x - y))
  if (typeof x === 'string' || x instanceof Uint8Array) return sameBytes(x, y) ? 0 : Number.POSITIVE_INFINITY
  return Math.abs(Number(x) - Number(y))
}

const sameBytes = (x: unknown, y: unknown): boolean =>
  x instanceof Uint8Array && y instanceof Uint8Array && x.length === y.length && x.every((byte, i) => byte === y[i])
