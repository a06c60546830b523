import { concat } from '../array/combine.ts'
import type { DiskArray } from '../array/disk-array.ts'
import { bytesOf } from '../array/source.ts'
import { isBigInt, isNumeric } from '../core/dtype.ts'
import { type ErrorDetails, HyperslabError, invalidArgument } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import { checkOptions } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { sizeOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { allDims, allVariables } from './all-variables.ts'
import { alongDims } from './arithmetic.ts'
import type { Attrs } from './attributes.ts'
import { asFloats } from './cast-float.ts'
import { arrangeLabels, type LabelRun, mostUncertain } from './concat-labels.ts'
import { CONCAT_DATASETS_CHECKS, type ConcatDatasetsOptions } from './concat-options.ts'
import type { DatasetParts } from './coords.ts'
import { Dataset, DatasetState } from './dataset.ts'
import { LabelIndex, type LabelKind } from './label-index.ts'
import type { Labels } from './label-values.ts'
import { alongNewDim } from './new-dim.ts'
import { withInstants } from './replace-times.ts'
import { packInstants } from './time/instant.ts'
import { decodeTimes, encodeTimes, type TimeUnits } from './time/units.ts'
import type { Variable } from './variable.ts'

const COMPARED_AT_A_TIME = 8

/** Attributes that define the meaning of numbers. Datasets that differ in them cannot be joined. */
const MEANING = [
  ...['units', 'calendar', 'scale_factor', 'add_offset', '_FillValue', 'missing_value', '_Unsigned'],
  ...['flag_values', 'flag_masks', 'flag_meanings'],
]

/**
 * Attributes that define the reference system of a grid mapping: the first of these lists that both have
 * counts. Texts of one system differ between writers.
 */
const SYSTEMS = [
  ['epsg_code'],
  [
    ...['grid_mapping_name', 'standard_parallel', 'straight_vertical_longitude_from_pole', 'longitude_of_prime_meridian'],
    ...['latitude_of_projection_origin', 'longitude_of_projection_origin', 'longitude_of_central_meridian'],
    ...['scale_factor_at_central_meridian', 'scale_factor_at_projection_origin', 'azimuth_of_central_line'],
    ...['false_easting', 'false_northing', 'semi_major_axis', 'semi_minor_axis', 'inverse_flattening', 'earth_radius'],
    ...['grid_north_pole_latitude', 'grid_north_pole_longitude', 'north_pole_grid_longitude'],
    ...['perspective_point_height', 'sweep_angle_axis', 'fixed_angle_axis'],
  ],
  ['crs_wkt'],
  ['spatial_ref'],
]
/** Attribute of a grid mapping that depends on the extent of the data. */
const EXTENT = 'GeoTransform'

/** A dataset to join. */
interface Part extends DatasetParts {
  /** Name of the dataset in messages. */
  readonly place: string
}

/** A variable of a part. */
interface Own {
  readonly variable: Variable
  readonly part: Part
}

/** @throws InvalidArgumentError as {@link concatParts}, and for values that are not datasets */
export async function concatenated(
  datasets: readonly Dataset[],
  dim: string | undefined,
  options: ConcatDatasetsOptions,
): Promise<Dataset> {
  if (!Array.isArray(datasets) || !Array.from(datasets).every((each) => each instanceof Dataset))
    invalidArgument('concatDatasets takes a list of datasets', datasets)
  return new Dataset(new DatasetState(await concatParts(datasets.map(({ parts }) => parts), dim, options))) // biome-ignore format: one line
}

/**
 * Joins the parts of datasets along a dimension. They are ordered by its labels, or stay in the given order
 * without labels.
 * @param dim dimension to join along; default: the only dimension whose labels differ
 * @throws InvalidArgumentError for two datasets that do not match, with their names
 */
async function concatParts(
  datasets: readonly DatasetParts[],
  dim: string | undefined,
  options: ConcatDatasetsOptions = {},
): Promise<DatasetParts> {
  checkOptions('concatDatasets', options, CONCAT_DATASETS_CHECKS)
  if (datasets.length === 0) invalidArgument('there are no datasets to join', datasets)
  const { overlap = 'error', gaps = 'error', labels } = options
  if (labels !== undefined && dim === undefined) invalidArgument('labels are for a new dimension: give its name, too', labels)
  const given = datasets.map((each, at): Part => ({ ...each, place: placeOf(each, at) }))
  const close = () => closeEach(datasets)
  const along = dim ?? (given.length === 1 ? undefined : differingDim(given))
  if (along === undefined) return datasets[0]!
  const isNew = labels !== undefined || !datasets.some((each) => allDims(each).includes(along))
  const parts = isNew ? alongNewDim(along, datasets, labels).map((each, at) => ({ ...each, place: given[at]!.place })) : given
  const decodeErrors = new Map(parts.flatMap((part) => [...(part.decodeErrors ?? [])]))
  const warnings = [...new Set(parts.flatMap((part) => part.warnings ?? []))]
  const indexes = parts.map(({ coords }) => coords.get(along)?.index)
  const runs: readonly LabelRun[] =
    labels === undefined
      ? arrangeLabels(along, indexes, { places: parts.map(({ place }) => place), overlap, gaps })
      : parts.map((_, part) => ({ part }))
  const first = parts[runs[0]!.part]!
  const ordered = [...new Set([first, ...runs.map(({ part }) => parts[part]!), ...parts])]
  checkNames(ordered, decodeErrors)
  const variables = new Map<string, Variable>()
  const coords = new Map<string, Variable>()
  const compared: (readonly [Own, Own])[] = []
  for (const [name, variable] of [...first.coords, ...first.variables]) {
    if (decodeErrors.has(name)) continue
    const all = parts.map((part): Own => ({ variable: find(part, name)!, part }))
    for (const other of all) {
      checkMeaning({ variable, part: first }, other)
      if (variable.dims.length === 0 && options.compat !== 'override') checkSystem({ variable, part: first }, other)
    }
    const isAlong = variable.dims.includes(along)
    for (const other of all)
      if (other.variable.dims.includes(along) !== isAlong) refuseDims(along, { variable, part: first }, other)
    const joined = isAlong ? joinVariables(along, variable, all, runs) : withoutExtent(variable, all)
    // Read the first one once, and compare each of the others with it.
    const once = isAlong || variable.index ? variable : variable.with({ array: variable.array.cache() })
    if (!isAlong) for (const other of all) if (other.part !== first) compared.push([{ variable: once, part: first }, other])
    ;(first.coords.has(name) ? coords : variables).set(name, joined)
  }
  const isRead = ({ variable }: Own): boolean => variable.index !== undefined || options.compat !== 'override'
  await forEachLimited(
    compared.filter(([own]) => isRead(own)),
    COMPARED_AT_A_TIME,
    ([own, other]) => checkEqual(own, other, options.signal),
  )
  const version = datasets.every((each) => each.version !== undefined) ? () => versionOfEach(datasets) : undefined
  return { variables, coords, attrs: first.attrs, decodeErrors, warnings, close, version }
}

/** Returns the versions of all files, in their order. */
async function versionOfEach(files: readonly DatasetParts[]): Promise<string> {
  const versions: string[] = []
  await forEachLimited(files.entries(), COMPARED_AT_A_TIME, async ([at, { version }]) => {
    versions[at] = await version!()
  })
  return JSON.stringify(versions)
}

/** Closes all files, even if closing one fails, and then throws its error. */
async function closeEach(files: readonly { close?: (() => Promise<void>) | undefined }[]): Promise<void> {
  const results = await Promise.allSettled(files.map((file) => file.close?.()))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

const find = ({ variables, coords }: DatasetParts, name: string): Variable | undefined => variables.get(name) ?? coords.get(name)

/** Returns the file of a dataset, if its arrays know it, or its number. */
function placeOf(part: DatasetParts, at: number): string {
  const file = allVariables(part).find(({ array }) => array.source.label?.file !== undefined)?.array.source.label?.file
  return file ?? `dataset ${at}`
}

function differingDim(parts: readonly Part[]): string {
  const [first, ...others] = parts
  const differing = [...first!.coords].flatMap(([name, { index }]) => {
    if (index === undefined) return []
    const isSame = others.every(({ coords }) => {
      const other = coords.get(name)?.index
      return other?.equals(index) ?? false
    })
    return isSame ? [] : [name]
  })
  if (differing.length === 1) return differing[0]!
  const why = differing.length === 0 ? 'labels differ along no dimension' : `labels differ along ${differing.join(' and ')}`
  return invalidArgument(`${why}: say which dimension to join along`, differing)
}

/**
 * Checks that all datasets have the same names. A variable that is unreadable in one dataset is omitted from
 * all.
 */
function checkNames(parts: readonly Part[], decodeErrors: ReadonlyMap<string, HyperslabError>): void {
  const names = new Set(parts.flatMap((part) => allVariables(part).map(({ name }) => name)))
  for (const name of names) {
    const without = parts.find((part) => find(part, name) === undefined)
    if (without === undefined || decodeErrors.has(name)) continue
    const having = parts.find((part) => find(part, name) !== undefined)!
    refuse(`${without.place} has no variable of this name, ${having.place} has one: drop it there`, { array: name })
  }
}

function refuse(text: string, details: ErrorDetails): never {
  throw new HyperslabError('InvalidArgumentError', text, details)
}

const refuseDims = (dim: string, { variable, part }: Own, other: Own): never =>
  refuse(
    `dimensions are [${variable.dims.join(', ')}] in ${part.place}, [${other.variable.dims.join(', ')}] in ${other.part.place}: ${dim} is in one of them`,
    { array: variable.name, actual: other.variable.dims, expected: variable.dims },
  )

/** Refuses different units, which would be mixed silently. Units of times are converted instead. */
function checkMeaning({ variable, part }: Own, other: Own): void {
  if (variable.times !== undefined && other.variable.times !== undefined) return
  for (const name of MEANING)
    if (!isSame(variable.attrs[name], other.variable.attrs[name])) refuseDifference(name, { variable, part }, other)
}

/** Refuses different reference systems, whose coordinates would be mixed silently. */
function checkSystem(own: Own, other: Own): void {
  const [a, b] = [own.variable.attrs, other.variable.attrs]
  const names = SYSTEMS.find(([name]) => a[name!] !== undefined && b[name!] !== undefined) ?? []
  // Numbers of one value may be stored as another type, or as a list of one.
  for (const name of names) if (String(a[name]) !== String(b[name])) refuseDifference(name, own, other)
}

function refuseDifference(name: string, { variable, part }: Own, other: Own): never {
  const [own, theirs] = [variable.attrs[name], other.variable.attrs[name]]
  const [shown, others] = [own, theirs].map((value) => (value === undefined ? 'none' : quoted(value)))
  return refuse(`${name} is ${shown} in ${part.place}, ${others} in ${other.part.place}`, {
    array: variable.name,
    actual: theirs,
    expected: own,
  })
}

/** Omits the extent from a grid mapping if parts differ in it. The coordinates have that of the result. */
function withoutExtent(variable: Variable, all: readonly Own[]): Variable {
  const extent = variable.attrs[EXTENT]
  if (extent === undefined || all.every((own) => isSame(own.variable.attrs[EXTENT], extent))) return variable
  const { [EXTENT]: _, ...attrs } = variable.attrs
  return variable.with({ attrs })
}

const isSame = (a: unknown, b: unknown): boolean => Object.is(a, b) || (typeof a === typeof b && String(a) === String(b))

/** @param variable variable of the first part, whose name, attributes and units the result gets */
function joinVariables(dim: string, variable: Variable, all: readonly Own[], runs: readonly LabelRun[]): Variable {
  const encoding = sharedEncoding(variable, all)
  const pieces = runs.map(({ part, positions }): Own => {
    const own = all[part]!
    return positions === undefined
      ? own
      : { ...own, variable: own.variable.take(new Map([[dim, { parts: [{ positions, shift: 0 }] }]])) }
  })
  if (variable.index !== undefined) return joinLabels(pieces).with({ encoding })
  const arrays = pieces.map((own) => {
    const dims = new Set(own.variable.dims)
    if (dims.size !== variable.dims.length || !variable.dims.every((each) => dims.has(each)))
      refuseDims(dim, { ...pieces[0]!, variable }, own)
    const taken = inUnits(own.variable, variable)
    checkShape(dim, variable, own)
    return alongDims(taken, variable.dims)
  })
  const dtypes = new Set(arrays.map(({ dtype }) => dtype))
  const text = [...dtypes].find((dtype) => !isNumeric(dtype) && dtype !== 'bool')
  if (dtypes.size > 1 && text !== undefined)
    refuse(`values are of ${[...dtypes].join(' and ')}`, { array: variable.name, actual: [...dtypes] })
  const array = arrays.length === 1 ? arrays[0]! : concat(arrays, { axis: variable.dims.indexOf(dim) })
  const chunks = joinedChunks(encoding['chunks'], variable, dim)
  return variable.with({ array, encoding: chunks === undefined ? encoding : { ...encoding, chunks }, stored: undefined })
}

/** Bytes of the chunks that a joined array is written with, unless those of its parts are larger. */
const JOINED_CHUNK_BYTES = 4 * 2 ** 20

/** Returns the chunks of the parts, several together, because a chunk for each file would be small. */
function joinedChunks(chunks: unknown, { array, dims }: Variable, dim: string): readonly number[] | undefined {
  if (!Array.isArray(chunks) || chunks.length !== dims.length) return undefined
  const together = Math.max(1, Math.floor(JOINED_CHUNK_BYTES / Math.max(1, sizeOf(chunks) * bytesOf(array.dtype))))
  return chunks.map((length: number, axis) => (dims[axis] === dim ? length * together : length))
}

function checkShape(dim: string, variable: Variable, { variable: own, part }: Own): void {
  for (const [axis, each] of variable.dims.entries()) {
    const [length, expected] = [own.array.shape[own.dims.indexOf(each)]!, variable.array.shape[axis]!]
    if (each === dim || length === expected) continue
    refuse(`${each} is of length ${length} in ${part.place}, and ${expected} in the first`, {
      array: variable.name,
      actual: length,
      expected,
    })
  }
}

/** Joins the labels of several parts to one coordinate. Times use the units of the first part. */
function joinLabels(pieces: readonly Own[]): Variable {
  const coords = pieces.map(({ variable }) => variable)
  const indexes = coords.map(({ index }) => index!)
  if (coords.length === 1) return coords[0]!
  const [first] = coords
  const { calendar } = indexes[0]!.kind
  if (calendar !== undefined) {
    // If one part has times beyond 64 bits, all become numbers in its units.
    const template = coords.find(({ array }) => array.dtype !== 'timestamp_ns') ?? first!
    const kind = { ...template.index!.kind, uncertainty: mostUncertain(indexes) }
    const instants = packInstants(indexes.flatMap(({ values }) => Array.from(values as ArrayLike<bigint>)))
    return withInstants(template.with({ index: new LabelIndex(template.dims[0]!, template.index!.values, kind) }), instants)
  }
  const array = concat(coords.map(({ array }) => array), { axis: 0 }) // biome-ignore format: one line
  const labels = LabelIndex.alike(indexes).flatMap(({ values }) => Array.from(values as ArrayLike<number>))
  const values: Labels = typeof labels[0] === 'number' ? Float64Array.from(labels) : labels
  const kind: LabelKind = { ...indexes[0]!.kind, dtype: array.dtype }
  const isCyclic = kind.period !== undefined && reach(values as ArrayLike<number>) <= kind.period
  return first!.with({ array, index: new LabelIndex(first!.dims[0]!, values, isCyclic ? kind : { ...kind, period: undefined }) })
}

function reach(values: ArrayLike<number>): number {
  let [low, high] = [Infinity, -Infinity]
  for (let i = 0; i < values.length; i++) {
    low = Math.min(low, values[i]!)
    high = Math.max(high, values[i]!)
  }
  return high - low
}

/**
 * Encoding entries that are independent. All other entries together define which value a stored element has.
 */
const APART = ['chunks', 'coordinates', 'units', 'calendar']

/**
 * Returns the encoding that all parts share. Times use the units of the first part. If the packing differs,
 * none of it is kept: values of one part may not fit the packing of another, and the packed type alone would
 * round them.
 */
function sharedEncoding(variable: Variable, all: readonly Own[]): Attrs {
  const isCounted = (name: string): boolean => variable.times !== undefined && (name === 'units' || name === 'calendar')
  const isShared = (name: string): boolean =>
    all.every(({ variable: { encoding } }) => isSame(encoding[name], variable.encoding[name]))
  const packing = all.flatMap((own) => Object.keys(own.variable.encoding)).filter((name) => !APART.includes(name))
  const isAlike = packing.every(isShared) && (variable.times === undefined || isShared('units'))
  return Object.fromEntries(
    Object.entries(variable.encoding).filter(([name]) => isCounted(name) || (APART.includes(name) ? isShared(name) : isAlike)),
  )
}

/** Converts times of calendars that stay numbers to the units of another variable. */
function inUnits(own: Variable, { times }: Variable): Variable {
  const from = own.times
  if (times === undefined || from === undefined || own.array.dtype === 'timestamp_ns') return own
  if (from.calendar !== times.calendar)
    refuse(`times are of the calendar ${times.calendar}, and of ${from.calendar}`, { array: own.name })
  if (from.unit === times.unit && from.reference === times.reference) return own
  return own.with({ array: recounted(own.array, from, times), stored: undefined })
}

function recounted(array: DiskArray, from: TimeUnits, to: TimeUnits): DiskArray {
  const convert = (value: number | bigint): number =>
    (encodeTimes(decodeTimes([value], from) as bigint[], to, { as: 'float64' }) as Float64Array)[0]!
  return (array as DiskArray<'float64'>).map<'float64'>(convert, { dtype: 'float64', fillValue: Number.NaN }) as DiskArray
}

/** @throws InvalidArgumentError if variables without the dimension differ */
async function checkEqual({ variable, part }: Own, other: Own, signal: Signal | undefined): Promise<void> {
  const [a, b] = [variable, inUnits(other.variable, variable)]
  if (a.array === b.array) return
  const where = `${part.place} and ${other.part.place}`
  if (a.dims.length !== b.dims.length || a.dims.some((dim, i) => dim !== b.dims[i]))
    refuseDims('another one', { variable, part }, other)
  if (a.index !== undefined && b.index !== undefined) {
    if (a.index.equals(b.index)) return
    refuse(`labels along ${a.name} are not the same in ${where}`, { array: a.name })
  }
  const [one, two] = a.array.dtype === b.array.dtype ? [a.array, b.array] : [widened(a.array), widened(b.array)]
  const [x, y] = [one, two].map((array) => (isNumeric(array.dtype) && !isBigInt(array.dtype) ? asFloats(array) : array))
  if (await x!.equals(y!, { equalNaN: true, ...(signal && { signal }) })) return
  const advice = "it does not lie along the dimension to join; `compat: 'override'` takes the first one, unread"
  refuse(`values are not the same in ${where}: ${advice}`, { array: a.name })
}

const widened = (array: DiskArray): DiskArray =>
  isNumeric(array.dtype) ? (asFloats(array).astype('float64') as DiskArray) : array
