import type { Command } from 'commander'
import type { NamedValues } from '../array/source.ts'
import { dimensionsOf } from '../copy/stored-arrays.ts'
import { type DType, isFixed, readElement } from '../core/dtype.ts'
import { within } from '../core/errors.ts'
import { parseJson, writeJson } from '../core/json.ts'
import { sameShape, showShape } from '../core/shape.ts'
import type { Variable } from '../dataset/variable.ts'
import { zipBlocks } from '../runtime/plan.ts'
import { EXIT } from './failure.ts'
import { elementJson, elementText } from './format.ts'
import { type RawOption, rawOption, selectArray, shownAs } from './labelled.ts'
import { openPlace } from './open-place.ts'
import { type JsonOption, jsonOption, type NotFoundOption, numberFrom, PLACE, parseNames } from './options.ts'
import { count, jsonText, print, printLines } from './output.ts'
import type { Place, PlacedArray } from './place.ts'

interface Options extends RawOption, JsonOption, NotFoundOption {
  readonly tolerance?: number
  readonly relative?: number
  readonly variables?: readonly string[]
}

export function addDiff(program: Command): void {
  program
    .command('diff')
    .description('compare two places: their arrays, dimensions, types, attributes and values')
    .argument('<first>', PLACE)
    .argument('<second>', 'the same, of any format')
    .option('--tolerance <distance>', 'largest difference of values that count as equal (default: 0)', numberFrom(0))
    .option('--relative <share>', 'additional tolerance, as a part of the second value, e.g. 1e-6 (default: 0)', numberFrom(0))
    .option('--variables <names>', 'which arrays to compare, e.g. tas,lat (default: all)', parseNames)
    .addOption(jsonOption())
    .addOption(rawOption())
    .addHelpText(
      'after',
      `
Exit code 1 when something differs. Chunks, codecs and layers may differ. Both are read a few chunks at a time.

Example
  $ hyperslab diff tas.nc climate.af --tolerance 0.01`,
    )
    .action(async (first: string, second: string, options: Options) => {
      const at = options.notFound === undefined ? {} : { notFound: options.notFound }
      await using a = await openPlace(first, at)
      await using b = await openPlace(second, at)
      const found = await differences(a, b, options)
      if (options.json) await print([jsonText(found.map(plain))])
      else await printLines(found.length === 0 ? ['nothing differs'] : found.map(lineOf))
      if (found.length > 0) process.exitCode = EXIT.failed
    })
}

/**
 * A difference between two arrays or two files. `first` or `second` is undefined if one of them lacks the
 * item.
 */
interface Difference {
  readonly array?: string
  readonly what: string
  readonly first?: string | undefined
  readonly second?: string | undefined
  readonly values?: DifferentValues
}

interface DifferentValues {
  readonly different: number
  readonly of: number
  /** Position of the first element with the largest difference. Only numbers have a distance. */
  readonly at: readonly number[]
  readonly distance?: number
  readonly first: string
  readonly second: string
  readonly json: readonly [string, string]
}

const lineOf = ({ array, what, first, second, values }: Difference): string => {
  const name = array === undefined ? '' : `${array}: `
  if (values === undefined) return `${name}${what}: ${first ?? 'none'} / ${second ?? 'none'}`
  const { different, of, at, distance } = values
  const most = distance === undefined ? '' : `, most by ${Number(distance.toPrecision(5))}`
  return `${name}${different} of ${count(of, 'value')} differ${different === 1 ? 's' : ''}${most} at [${at.join(', ')}]: ${values.first} / ${values.second}`
}

const plain = ({ array, what, first, second, values }: Difference) => ({
  ...(array !== undefined && { array }),
  what,
  first: values ? parseJson(values.json[0], 'a value', { exact: false }) : (first ?? null),
  second: values ? parseJson(values.json[1], 'a value', { exact: false }) : (second ?? null),
  ...(values && { different: values.different, of: values.of, at: values.at, distance: values.distance ?? null }),
})

async function differences(a: Place, b: Place, options: Options): Promise<Difference[]> {
  const [first, second] = [await a.contents(), await b.contents()]
  const [ofFirst, ofSecond] = [first, second].map(({ arrays }) => new Map(arrays.map((each) => [each.name, each])))
  for (const name of options.variables ?? []) if (!ofFirst!.has(name)) await b.array(name)
  const isWanted = (name: string): boolean => options.variables?.includes(name) ?? true
  const found: Difference[] = []
  for (const name of new Set([...ofFirst!.keys(), ...ofSecond!.keys()].filter(isWanted))) {
    const [one, other] = [ofFirst!.get(name), ofSecond!.get(name)]
    if (one === undefined || other === undefined) {
      const shown = (each: PlacedArray | undefined) => each && `${each.array.dtype} ${showShape(each.array.shape)}`
      found.push({ array: name, what: 'array', first: shown(one), second: shown(other) })
    } else found.push(...(await ofArrays([a, one], [b, other], options)))
  }
  if (options.variables !== undefined) return found
  for (const path of new Set([...first.groups.keys(), ...second.groups.keys()])) {
    const attributes = ofAttributes(first.groups.get(path), second.groups.get(path))
    found.push(...attributes.map((each) => (path === '' ? each : { ...each, array: path })))
  }
  return found
}

type Side = readonly [place: Place, placed: PlacedArray]

async function ofArrays([a, one]: Side, [b, other]: Side, options: Options): Promise<Difference[]> {
  const found: Difference[] = []
  const add = (what: string, first: string, second: string): void => {
    if (first !== second) found.push({ array: one.name, what, first, second })
  }
  add('type', one.array.dtype, other.array.dtype)
  add('dimensions', dimensionsOf(one.array).join(', '), dimensionsOf(other.array).join(', '))
  add('shape', showShape(one.array.shape), showShape(other.array.shape))
  found.push(...ofAttributes(one.array.attrs, other.array.attrs).map((each) => ({ ...each, array: one.name })))
  if (!sameShape(one.array.shape, other.array.shape)) return found
  const variables = await Promise.all(
    [[a, one] as const, [b, other] as const].map(
      async ([place, placed]) => (await selectArray(place, placed, '', { ...(options.raw && { raw: true }) })).variable,
    ),
  )
  const values = await within({ file: b.location, array: one.name }, () => ofValues(variables[0]!, variables[1]!, options))
  if (values !== undefined) found.push({ array: one.name, what: 'values', values })
  return found
}

/** Compares attributes by value. Types do not count, because JSON has fewer of them. */
function ofAttributes(first: NamedValues | undefined, second: NamedValues | undefined): Difference[] {
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

/**
 * Compares the elements of two variables of one shape, block by block. A missing element only equals a
 * missing one, and NaN equals NaN.
 */
async function ofValues(
  a: Variable,
  b: Variable,
  { tolerance = 0, relative = 0, raw = false }: Options,
): Promise<DifferentValues | undefined> {
  const [one, other] = [a.array, b.array]
  const shown = [a, b].map((each) => ({ dtype: each.array.dtype, ...shownAs(each, { raw }) }))
  const { size } = one
  if (!isComparable(one.dtype, other.dtype)) {
    const types = [one.dtype, other.dtype] as const
    return { different: size, of: size, at: [], first: types[0], second: types[1], json: [`"${types[0]}"`, `"${types[1]}"`] }
  }
  const [missingOne, missingOther] = shown.map(({ isMissing }) => isMissing ?? ((): boolean => false))
  let different = 0
  let most:
    | { readonly distance: number; readonly at: readonly number[]; readonly values: readonly [unknown, unknown] }
    | undefined
  for await (const { box, data } of zipBlocks([one, other])) {
    const [left, right] = [data[0]!, data[1]!]
    const { length } = left.data
    for (let i = 0; i < length; i++) {
      const [x, y] = [left.data[i], right.data[i]]
      const [noX, noY] = [missingOne!(x), missingOther!(y)]
      if (noX && noY) continue
      let distance = Number.POSITIVE_INFINITY
      if (!noX && !noY) {
        if (x === y || (Number.isNaN(x) && Number.isNaN(y))) continue
        distance = distanceOf(x, y)
        // Bytes have no size that a tolerance could be relative to.
        if (distance === 0) continue
        if (Number.isFinite(distance) && distance <= tolerance + relative * Math.abs(Number(y))) continue
      }
      different++
      // NaN has no distance and counts as the largest difference.
      const far = Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance
      if (most !== undefined && far <= most.distance) continue
      let rest = i
      const at = box.map(() => 0)
      for (let axis = box.length - 1; axis >= 0; axis--) {
        const [{ start, step }, along] = [box[axis]!, left.shape[axis]!]
        at[axis] = start + (rest % along) * step
        rest = Math.floor(rest / along)
      }
      most = { distance: far, at, values: [readElement(one.dtype, left.data, i), readElement(other.dtype, right.data, i)] }
    }
  }
  if (most === undefined) return undefined
  const [first, second] = most.values
  return {
    different,
    of: size,
    at: most.at,
    ...(Number.isFinite(most.distance) && { distance: most.distance }),
    first: elementText(shown[0]!, first),
    second: elementText(shown[1]!, second),
    json: [elementJson(shown[0]!, first), elementJson(shown[1]!, second)],
  }
}

/** Returns the distance of two values; infinite for different texts. */
function distanceOf(x: unknown, y: unknown): number {
  if (typeof x === 'bigint' && typeof y === 'bigint') return Math.abs(Number(x - y))
  if (typeof x === 'string' || x instanceof Uint8Array) return sameBytes(x, y) ? 0 : Number.POSITIVE_INFINITY
  return Math.abs(Number(x) - Number(y))
}

const sameBytes = (x: unknown, y: unknown): boolean =>
  x instanceof Uint8Array && y instanceof Uint8Array && Buffer.compare(x, y) === 0
