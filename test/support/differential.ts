import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { missingElements } from '../../src/array/missing.ts'
import { missingTest } from '../../src/array/missing-test.ts'
import { createProgram } from '../../src/cli/program.ts'
import { isHyperslabError, messageOf } from '../../src/core/errors.ts'
import type { Tensor } from '../../src/core/tensor.ts'
import { typedAttribute } from '../../src/dataset/attributes.ts'
import { between } from '../../src/dataset/between.ts'
import type { DataArray } from '../../src/dataset/data-array.ts'
import type { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import type { Calendar } from '../../src/dataset/time/calendar.ts'
import { CFTime, NAT } from '../../src/dataset/time/instant.ts'
import { parseTimeLabel } from '../../src/dataset/time/labels.ts'
import { slice } from '../../src/grid/slice.ts'
import { type Spec, type SpecAttr, type SpecStep, type SpecVariable, UNWRITTEN } from './differential-specs.ts'
import { startPython } from './python.ts'

/** A variable as one side reads it: each value as text, null where there is none. */
export interface Described {
  readonly dims: readonly string[]
  readonly shape: readonly number[]
  /** A type of numbers, `text`, `time` and the calendar, or `duration`. */
  readonly type: string
  readonly values: readonly (string | null)[]
  readonly attrs: Readonly<Record<string, readonly [kind: string, value: string | readonly (string | null)[]]>>
  readonly coord: boolean
}

/** All that one side reads of a file, and what it refuses, with the reasons. */
export interface Reading {
  readonly variables: Readonly<Record<string, Described>>
  readonly refused: Readonly<Record<string, string>>
}

interface PeerFile extends Reading {
  readonly attrs: Described['attrs']
  /** The same with ranges by the table. */
  readonly ranged: Reading
  /** Labels that each selection of times asks for. */
  readonly labels: readonly (readonly string[] | null)[]
  readonly selected: readonly (Reading | { readonly refused: string } | null)[]
}

/** Difference of one variable in a stage, in words, with its cell. */
export interface Difference {
  readonly stage: string
  readonly variable: string
  /** Kind of the difference, for counting. */
  readonly kind: string
  readonly text: string
}

export interface DifferentialPeer {
  make(spec: Spec, path: string): Promise<PeerFile>
  read(path: string): Promise<PeerFile>
  close(): void
}

/** xarray in a process of its own; undefined where it cannot be had. */
export function startDifferential(): DifferentialPeer | undefined {
  const python = startPython('../dataset/differential_peer.py')
  const ask = async (request: object): Promise<PeerFile> => {
    const { result, error, trace } = await python!.ask(request)
    if (error !== undefined) throw new Error(`${error}\n${trace}`)
    return result
  }
  return (
    python && {
      make: (spec, path) => ask({ spec, path, steps: spec.steps }),
      read: (path) => ask({ path }),
      close: () => python.close(),
    }
  )
}

/** Our side of a dataset. */
async function describe(ds: Dataset): Promise<Reading> {
  const variables: Record<string, Described> = {}
  const refused: Record<string, string> = Object.fromEntries([...ds.decodeErrors].map(([name, { message }]) => [name, message]))
  const all = [...Object.values(ds.coords).map((array) => [array, true] as const), ...Object.values(ds.variables).map((array) => [array, false] as const)] // biome-ignore format: one line
  for (const [array, coord] of all) {
    try {
      variables[array.name] = { ...(await describeArray(array)), coord }
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      refused[array.name] = `reading: ${messageOf(error)}`
    }
  }
  return { variables, refused }
}

async function describeArray(array: DataArray): Promise<Omit<Described, 'coord'>> {
  const { index, scalar, times } = array.variable
  const labels = index ?? scalar
  const calendar =
    labels?.kind.calendar ?? times?.calendar ?? (array.dtype === 'timestamp_ns' ? 'proleptic_gregorian' : undefined)
  const own = { dims: array.dims, shape: array.shape, attrs: attributesOf(array) }
  if (calendar !== undefined) return { ...own, type: `time ${calendar}`, values: await timesOf(array, calendar) }
  const result = await array.get()
  const data: unknown[] = typeof result === 'object' && result !== null && 'data' in result ? [...((await array.array.toTensor()) as Tensor).data as Iterable<unknown>] : [result] // biome-ignore format: one line
  const isMissing = missingTest(missingElements(array.array.source))
  const isText = array.dtype === 'string' || array.dtype === 'binary'
  const values = data.map((value) => (!isText && (isMissing?.(value) || Number.isNaN(value)) ? null : shown(value)))
  return { ...own, type: isText ? 'text' : array.dtype, values }
}

const shown = (value: unknown): string => {
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  return value === Infinity ? 'inf' : value === -Infinity ? '-inf' : String(value)
}

async function timesOf(array: DataArray, calendar: Calendar): Promise<(string | null)[]> {
  const { index, scalar } = array.variable
  const labels = index ?? scalar
  const instants =
    labels !== undefined
      ? Array.from(labels.values as ArrayLike<bigint>)
      : array.dtype === 'timestamp_ns'
        ? array.dims.length === 0
          ? [(await array.get()) as bigint]
          : Array.from((await array.values()) as ArrayLike<bigint>)
        : (await array.dates()).map((date) => (date === null ? NAT : parseTimeLabel(date, calendar).start))
  return instants.map((instant) => (instant === NAT ? null : new CFTime(instant, calendar).toString()))
}

function attributesOf({ attrs }: DataArray): Described['attrs'] {
  return Object.fromEntries(
    Object.entries(attrs).map(([name, value]) => [name, attributeOf(value, typedAttribute(attrs, name)?.type)]),
  )
}

function attributeOf(value: unknown, type: string | undefined): Described['attrs'][string] {
  if (typeof value === 'string') return ['text', value]
  const list = ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value as ArrayLike<unknown>) : [value]
  if (!list.every((each) => typeof each === 'number' || typeof each === 'bigint')) return ['other', JSON.stringify(value)]
  const isFloat = type?.startsWith('float') || value instanceof Float64Array || value instanceof Float32Array
  return [isFloat ? 'float' : 'number', list.map((each) => (Number.isNaN(each) ? null : shown(each)))]
}

/** A selection here. */
function select(ds: Dataset, step: SpecStep, labels: readonly string[] | null): Dataset {
  const label = (value: unknown): never => (typeof value === 'string' && /^-?\d+$/.test(value) ? BigInt(value) : value) as never
  switch (step.kind) {
    case 'isel': {
      const { at } = step
      if (typeof at === 'number') return ds.isel({ [step.dim]: at })
      return ds.isel({ [step.dim]: Array.isArray(at) ? at : slice(...(at as { slice: [number, number] }).slice) })
    }
    case 'sel':
      return ds.sel({ [step.dim]: Array.isArray(step.label) ? step.label.map(label) : label(step.label) } as never)
    case 'nearest':
      return ds.sel({ [step.dim]: label(step.label) }, { method: 'nearest' })
    case 'range':
      return ds.sel({ [step.dim]: between(label(step.range[0]), label(step.range[1])) })
    case 'time':
      return ds.sel({ [step.dim]: step.how === 'range' ? between(labels![0]!, labels![1]!) : labels![0]! })
  }
}

const attr = (variable: SpecVariable | undefined, name: string): SpecAttr | undefined =>
  variable?.attrs.find((each) => each.name === name)

/** Returns the tolerance of a variable. A side that computes in float32 rounds there. */
function slackOf(variable: SpecVariable | undefined, types: readonly string[]): number {
  if (variable === undefined) return 0
  const number = (name: string, otherwise: number): number => {
    const value = Number(attr(variable, name)?.value ?? otherwise)
    return Number.isNaN(value) ? otherwise : Math.abs(value)
  }
  const isPacked = attr(variable, 'scale_factor') !== undefined || attr(variable, 'add_offset') !== undefined
  if (!isPacked) return 0
  // Negative values may count as unsigned ones.
  const wrap = attr(variable, '_Unsigned') === undefined ? 0 : 2 ** (8 * Number(/[1248]/.exec(variable.type)?.[0] ?? 1))
  const size = (value: number): number => (value < 0 ? Math.max(-value, value + wrap) : value)
  const most = Math.max(...variable.values.map((value) => size(Number(value))).filter(Number.isFinite), 256)
  return (most * number('scale_factor', 1) + number('add_offset', 0)) * (types.includes('float32') ? 2 ** -22 : 2 ** -51)
}

const SECOND = 1_000_000_000n

/** Whether two values are one. */
function same(
  own: string | null,
  theirs: string | null,
  kind: 'number' | 'text' | Calendar,
  slack: number,
  ownScale: bigint,
): boolean {
  if (own === null || theirs === null) return own === theirs
  if (kind === 'text') return own === theirs
  if (kind === 'number') {
    if (own === theirs) return true
    if (/^-?\d+$/.test(own) && /^-?\d+$/.test(theirs) && slack === 0) return BigInt(own) * ownScale === BigInt(theirs)
    const [a, b] = [own, theirs].map((text) => (text === 'inf' ? Infinity : text === '-inf' ? -Infinity : Number(text))) as [number, number] // biome-ignore format: one line
    return a === b || Math.abs(a * Number(ownScale) - b) <= slack
  }
  const [a, b] = [own, theirs].map((text) => instantIn(text, kind)) as [bigint, bigint]
  // cftime has microseconds, and pandas multiplies floats.
  return (a - b) ** 2n <= (SECOND / 100_000n) ** 2n
}

const instantIn = (text: string, calendar: Calendar): bigint => parseTimeLabel(text.replace(' ', 'T'), calendar).start

/** Attributes that decoding uses: xarray keeps some, which it does not use. */
const USED = new Set(['scale_factor', 'add_offset', '_FillValue', 'missing_value', '_Unsigned', 'valid_min', 'valid_max', 'valid_range', 'units', 'calendar', 'dtype', 'coordinates']) // biome-ignore format: a list

/** Compares one variable of both sides. */
function compareVariable(
  stage: string,
  name: string,
  own: Described,
  theirs: Described,
  spec: Spec,
  isComplete: boolean,
): Difference[] {
  const variable = spec.variables.find((each) => each.name === name)
  const found: Difference[] = []
  const add = (kind: string, text: string): void => void found.push({ stage, variable: name, kind, text })
  const dims = own.dims.map((dim, axis) => (own.dims.indexOf(dim) < axis || theirs.dims.indexOf(theirs.dims[axis]!) < axis ? theirs.dims[axis] : dim)) // biome-ignore format: one line
  if (String(dims) !== String(theirs.dims) || String(own.shape) !== String(theirs.shape)) {
    add('shape', `dimensions ${own.dims}, shape ${own.shape}; xarray ${theirs.dims}, ${theirs.shape}`)
    return found
  }
  if (own.coord !== theirs.coord && isComplete)
    add('coordinate', `${own.coord ? 'a' : 'no'} coordinate, and in xarray ${theirs.coord ? 'one' : 'none'}`)
  const [ownKind, theirKind] = [own.type.split(' ')[0]!, theirs.type.split(' ')[0]!]
  const isNumber = (kind: string): boolean => /^(u?int|float|bool)/.test(kind)
  const isDuration = theirKind === 'duration' && isNumber(ownKind)
  if (!isDuration && ownKind !== theirKind && !(isNumber(ownKind) && isNumber(theirKind))) {
    // Objects of nothing: of what type they would be is not told.
    if (theirs.values.every((value) => value === null) && own.values.every((value) => value === null)) return found
    add('type', `${own.type}, and in xarray ${theirs.type}`)
    return found
  }
  if (isNumber(ownKind) && isNumber(theirKind) && ownKind !== theirKind) {
    const why = typeDifference(ownKind, theirKind, variable, spec)
    if (why !== undefined) add('type', `${own.type}, and in xarray ${theirs.type}${why}`)
  }
  const kind = ownKind === 'time' ? (own.type.slice(5) as Calendar) : ownKind === 'text' ? 'text' : 'number'
  const slack = isDuration ? 1e4 : slackOf(variable, [ownKind, theirKind])
  const scale = isDuration ? (variable?.type === 'm8[s]' ? SECOND : 3600n * SECOND) : 1n
  // Labels of 64-bit integers stay exact, those that a selection left as scalars, too. One that equals the
  // fill value is a label.
  const isExact = own.coord && /^u?int64$/.test(ownKind) && String(variable?.dims) === name
  // Integers that may be missing are floats here.
  const isRounded = /float/.test(ownKind) && /int/.test(theirKind)
  const at = own.values.findIndex(
    (value, i) =>
      !(isExact && theirs.values[i] === null) &&
      !(isRounded && value !== null && Number(value) === Number(theirs.values[i] ?? NaN)) &&
      !same(value, theirs.values[i]!, kind, slack, scale),
  )
  if (at >= 0 || own.values.length !== theirs.values.length) {
    const missing = own.values[at] === null ? 'missing here' : theirs.values[at] === null ? 'missing there' : 'value'
    add(missing, `cell ${at} is ${own.values[at]} (${own.type}), and in xarray ${theirs.values[at]} (${theirs.type}); all: ${own.values.join(' ')} | ${theirs.values.join(' ')}`) // biome-ignore format: one line
  }
  for (const key of new Set([...Object.keys(own.attrs), ...Object.keys(theirs.attrs)])) {
    if (USED.has(key)) continue
    const [mine, other] = [own.attrs[key], theirs.attrs[key]]
    const text = (each: typeof mine): string => (each === undefined ? 'absent' : `${each[0]} ${JSON.stringify(each[1])}`)
    const numeric = (each: typeof mine): string => (each === undefined ? '' : JSON.stringify(typeof each[1] === 'string' ? each[1] : each[1].map((one) => one === null || one.includes('inf') ? one : Number(one)))) // biome-ignore format: one line
    if (numeric(mine) !== numeric(other)) add('attribute', `attribute ${key}: ${text(mine)}, and in xarray ${text(other)}`)
  }
  return found
}

/** Types that differ on purpose, as docs/xarray.md says: undefined for one of these. */
function typeDifference(own: string, theirs: string, variable: SpecVariable | undefined, spec: Spec): string | undefined {
  if (variable === undefined) return ''
  const has = (...names: string[]): boolean => names.some((name) => attr(variable, name) !== undefined && attr(variable, name)?.type !== 'S') // biome-ignore format: one line
  const isPacked = has('scale_factor', 'add_offset')
  const factors = ['scale_factor', 'add_offset'].flatMap((name) => attr(variable, name)?.type ?? [])
  const isSmall = /[1248]/.exec(variable.type)![0] <= '2' || variable.type === 'f4'
  const isOwnFloat = own === (isSmall ? 'float32' : 'float64')
  // Packed values are float32 where all factors are, and the packed type is small.
  if (isPacked) return own === (isSmall && factors.every((type) => type === 'f4' && spec.form === 'nc') ? 'float32' : 'float64') ? undefined : '' // biome-ignore format: one line
  // Integers become floats if elements may be missing: by a valid range, or because they are unwritten.
  const isUnwritten = spec.form === 'nc' && !has('_FillValue') && variable.type !== 'i1'
  const mayBeMissing = isUnwritten || has('valid_min', 'valid_max', 'valid_range')
  if (/int/.test(theirs) && isOwnFloat && (mayBeMissing || attr(variable, '_Unsigned') !== undefined)) return undefined
  // Text says nothing of numbers that are missing.
  if (/float/.test(theirs) && /int/.test(own) && attr(variable, 'missing_value')?.type === 'S') return undefined
  // Flags and integers of 64 bits stay integers.
  if (theirs === 'float64' || theirs === 'float32')
    if (/int64/.test(own) || (/int/.test(own) && has('flag_values'))) return undefined
  return ''
}

/**
 * Variables that are refused here, and read by xarray: dates with the day first, and times of too many bits.
 */
const isLeftOutOnPurpose = (reason: string | undefined): boolean => /may mean|beyond 64 bits of nanoseconds/.test(reason ?? '')

/** A missing time of a calendar that xarray has by cftime, which has no missing ones. */
const isMissingTimeRefused = ({ type, values }: Described, reason: string | undefined): boolean =>
  type.startsWith('time') && values.includes(null) && /cftime.*NoneType/.test(reason ?? '')

/**
 * Whether xarray joins single characters of references, where names along the same dimension are texts
 * already.
 */
const isJoinedThere = (variable: SpecVariable | undefined, spec: Spec): boolean =>
  variable?.type === 'S1' &&
  spec.variables.every(
    ({ type, dims, name }) => (type === 'S1' || !dims.includes(variable.dims.at(-1)!)) && name !== variable.dims.at(-1),
  )

/** Compares two readings of a file; returns the differences. */
function compareReadings(stage: string, own: Reading, theirs: Reading, spec: Spec): Difference[] {
  const found: Difference[] = []
  // A variable that is left out names no coordinates.
  const isComplete = Object.keys(own.refused).length === 0 && Object.keys(theirs.refused).length === 0
  for (const name of new Set([
    ...Object.keys(own.variables),
    ...Object.keys(theirs.variables),
    ...Object.keys(own.refused),
    ...Object.keys(theirs.refused),
  ])) {
    const [mine, other] = [own.variables[name], theirs.variables[name]]
    if (mine !== undefined && other !== undefined) found.push(...compareVariable(stage, name, mine, other, spec, isComplete))
    else if (mine !== undefined && !isMissingTimeRefused(mine, theirs.refused[name]))
      found.push({ stage, variable: name, kind: 'read here alone', text: `xarray: ${theirs.refused[name] ?? 'has no such variable'}; here ${mine.type} ${mine.values.join(' ')}` }) // biome-ignore format: one line
    else if (other !== undefined && !isLeftOutOnPurpose(own.refused[name]))
      found.push({ stage, variable: name, kind: 'read there alone', text: `here: ${own.refused[name] ?? 'there is no such variable'}; xarray ${other.type} ${other.values.join(' ')}` }) // biome-ignore format: one line
  }
  return found
}

/** Runs a file through all stages. */
export async function differencesOf(peer: DifferentialPeer, spec: Spec, folder: string): Promise<Difference[]> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, spec.form === 'nc' ? 'file.nc' : 'file.zarr')
  const theirs = await peer.make(spec, path)
  const found: Difference[] = []
  await using ds = await openDataset(path)
  found.push(...compareReadings('decoded', await describe(ds), theirs.ranged, spec))
  const twice = Object.values({ ...ds.variables, ...ds.coords }).filter((array) => array.dims.length > new Set(array.dims.map((dim) => theirs.variables[array.name]?.dims[array.dims.indexOf(dim)] ?? dim)).size) // biome-ignore format: one line
  const refused = [...Object.keys(theirs.ranged.refused), ...twice.map(({ name }) => name)]
  const whole = ds.drop(...refused.filter((name) => name in ds.variables || name in ds.coords || ds.decodeErrors.has(name)))
  const known = new Set([...found.map(({ variable }) => variable), ...twice.map(({ name }) => name)])
  for (const [i, step] of spec.steps.entries())
    found.push(
      ...(await compareStep(whole, step, theirs, i, spec)).filter(
        ({ variable, kind }) => !known.has(variable) && !(kind === 'coordinate' && refused.length > 0),
      ),
    )
  found.push(...(await compareWritten(peer, ds, theirs, spec, folder, path)))
  return found
}

/** Selections that are errors here, and answered by xarray; see docs/xarray.md. */
function isRefusedOnPurpose({ kind, dim }: SpecStep, ds: Dataset, theirs: Reading): boolean {
  const length = theirs.variables[dim]?.shape[0]
  // A label that is there twice.
  if (kind === 'sel' && theirs.variables[dim]?.shape.length === 1 && length !== 1) return true
  return (kind === 'range' || kind === 'time') && length === 0 && ds.dims[dim] !== 0
}

/** Whether labels of a time are less than a microsecond apart, to which they are rounded here. */
function isRounded({ kind, dim }: SpecStep, spec: Spec): boolean {
  const time = spec.variables.find(({ name }) => name === dim)
  return kind === 'time' && time !== undefined && /^f/.test(time.type) && /^micro/.test(String(attr(time, 'units')?.value))
}

async function compareStep(
  ds: Dataset,
  step: SpecStep,
  { selected, labels }: PeerFile,
  i: number,
  spec: Spec,
): Promise<Difference[]> {
  const theirs = selected[i]!
  // The dimension is of variables alone that one side refuses.
  const isLabelled = step.kind === 'isel' || step.dim in ds.coords || !spec.variables.some(({ name }) => name === step.dim)
  if (theirs === null || !(step.dim in ds.dims) || !isLabelled || isRounded(step, spec)) return []
  const stage = `selected ${JSON.stringify({ ...step, ...(labels[i] && { labels: labels[i] }) })}`
  let own: Reading
  try {
    own = await describe(select(ds, step, labels[i]!))
  } catch (error) {
    if (!isHyperslabError(error)) throw error
    const isWanted = 'variables' in theirs && !isRefusedOnPurpose(step, ds, theirs as Reading)
    return isWanted ? [{ stage, variable: step.dim, kind: `refused here`, text: `refused: ${messageOf(error)}` }] : []
  }
  if (!('variables' in theirs)) return [{ stage, variable: step.dim, kind: 'refused there', text: `xarray: ${theirs.refused}; here ${JSON.stringify(own.variables[step.dim])}` }] // biome-ignore format: one line
  return compareReadings(stage, own, { ...theirs, refused: {} }, spec)
}

/** Compares files that this package has written with their source, as xarray reads both. */
async function compareWritten(
  peer: DifferentialPeer,
  ds: Dataset,
  theirs: PeerFile,
  spec: Spec,
  folder: string,
  path: string,
): Promise<Difference[]> {
  // biome-ignore format: one line
  const found: Difference[] = []
  const compare = async (stage: string, target: string, without: readonly string[]): Promise<void> => {
    try {
      const there = await peer.read(target)
      found.push(...compareXarray(stage, theirs, there, without, spec))
    } catch (error) {
      found.push({ stage, variable: '', kind: 'not opened by xarray', text: messageOf(error) })
    }
  }
  const refuse = (stage: string, error: unknown): void => {
    if (!isHyperslabError(error)) throw error
    found.push({ stage, variable: error.details?.array ?? '', kind: 'refused', text: messageOf(error) })
  }
  const written = join(folder, 'written.zarr')
  let left: string[] = []
  try {
    const { arrays } = await ds.write(written)
    left = Object.keys(theirs.variables).filter((name) => !arrays.includes(name))
    await compare('written as Zarr', written, left)
  } catch (error) {
    refuse('written as Zarr', error)
  }
  const container = join(folder, 'written.af')
  const again = join(folder, 'again.zarr')
  try {
    await ds.write(container)
    await using back = await openDataset(container)
    await back.write(again)
    await compare('written as a container, then as Zarr', again, left)
  } catch (error) {
    refuse('written as a container', error)
  }
  if (spec.form === 'nc') {
    const references = join(folder, 'references.json')
    await createProgram('0.0.0').parseAsync(['references', references, path], { from: 'user' })
    await compare('references', references, [])
  }
  return found
}

/**
 * JSON has one type of floats: what is packed by such factors becomes float64, as in what xarray itself
 * writes.
 */
const isOfJSON = (before: string, after: string, variable: SpecVariable | undefined): boolean =>
  before === 'float32' && after === 'float64' && ['scale_factor', 'add_offset'].some((name) => attr(variable, name) !== undefined)

/**
 * Whether unwritten elements of a variable are missing in xarray: containers have one fill value, which Zarr
 * names.
 */
const isUnwrittenMissing = (stage: string, variable: SpecVariable | undefined, { form }: Spec): boolean =>
  stage.includes('container') &&
  form === 'nc' &&
  /^(i[24]|f[48])$/.test(variable?.type ?? '') &&
  attr(variable, '_FillValue') === undefined

/**
 * Whether a cell has a missing value that xarray compares with values of another sign. What is written names
 * it as its fill value.
 */
const isMissingOfSign = ({ ranged }: PeerFile, variable: SpecVariable | undefined, i: number): boolean =>
  attr(variable, '_Unsigned') !== undefined && attr(variable, 'missing_value') !== undefined && ranged.variables[variable!.name]?.values[i] === null // biome-ignore format: one line

/** Compares a file and its copy, as xarray reads them. */
function compareXarray(stage: string, source: PeerFile, made: PeerFile, without: readonly string[], spec: Spec): Difference[] {
  const found: Difference[] = []
  const add = (variable: string, kind: string, text: string): void => void found.push({ stage, variable, kind, text })
  // Containers have numbers of JSON as float64.
  const isByContainer = stage.includes('container') && spec.form !== 'nc'
  const typeless = (each: Described['attrs'][string] | undefined) => isByContainer && each !== undefined && typeof each[1] !== 'string' ? each[1].map(Number) : each // biome-ignore format: one line
  for (const [name, before] of Object.entries(source.variables)) {
    if (without.includes(name)) continue
    const after = made.variables[name]
    if (after === undefined) {
      add(name, 'lost', `${name} is gone: ${made.refused[name] ?? 'no such variable'}`)
      continue
    }
    const variable = spec.variables.find((each) => each.name === name)
    const isUnwritten = isUnwrittenMissing(stage, variable, spec)
    if (stage === 'references' && isJoinedThere(variable, spec)) continue
    if (String(before.dims) !== String(after.dims)) add(name, 'dimensions', `dimensions ${before.dims} became ${after.dims}`)
    const isKnown =
      isOfJSON(before.type, after.type, variable) ||
      ((isUnwritten || before.values.some((_, i) => isMissingOfSign(source, variable, i))) &&
        /int/.test(before.type) &&
        /float/.test(after.type))
    if (before.type !== after.type && !isKnown) add(name, 'type', `${before.type} became ${after.type}`)
    const slack = slackOf(variable, [before.type, after.type])
    const kind = /^(time|text)/.test(before.type) ? 'text' : 'number'
    const isSame = (value: string | null, i: number): boolean =>
      same(value, after.values[i]!, kind, slack, 1n) ||
      (after.values[i] === null && isMissingOfSign(source, variable, i)) ||
      (isUnwritten && after.values[i] === null && variable!.values[i] === UNWRITTEN[variable!.type])
    const at = before.values.findIndex((value, i) => !isSame(value, i))
    if (at >= 0) add(name, after.values[at] === null ? 'became missing' : before.values[at] === null ? 'became present' : 'value', `cell ${at} was ${before.values[at]} (${before.type}), and is ${after.values[at]} (${after.type}); all: ${before.values.join(' ')} | ${after.values.join(' ')}`) // biome-ignore format: one line
    if (before.coord !== after.coord && without.length === 0) add(name, 'coordinate', `${before.coord ? 'a' : 'no'} coordinate became ${after.coord ? 'one' : 'none'}`) // biome-ignore format: one line
    for (const key of new Set([...Object.keys(before.attrs), ...Object.keys(after.attrs)])) {
      const [a, b] = [before.attrs[key], after.attrs[key]].map((each) => JSON.stringify(typeless(each)))
      if (a !== b) add(name, 'attribute', `attribute ${key}: ${a} became ${b}`)
    }
  }
  for (const name of Object.keys(made.variables)) if (!(name in source.variables)) add(name, 'new', `${name} was not there`)
  if (JSON.stringify(source.attrs) !== JSON.stringify(made.attrs)) add('', 'attribute', `attributes ${JSON.stringify(source.attrs)} became ${JSON.stringify(made.attrs)}`) // biome-ignore format: one line
  return found
}
