import fc from 'fast-check'

/** Numbers as they are, and as texts those that JSON does not have: `nan`, `inf`, integers of 64 bits. */
export type SpecValue = number | string

/** A type of numpy: `S` is text of an attribute, `S1` a character, `text` strings of any length. */
export type SpecType =
  | 'i1' | 'i2' | 'i4' | 'i8' | 'u1' | 'u2' | 'u4' | 'u8' | 'f4' | 'f8' | 'b1' | 'S1' | 'text' | 'S' | 'M8[s]' | 'M8[ns]' | 'm8[s]' // biome-ignore format: a list

export interface SpecAttr {
  readonly name: string
  readonly type: SpecType
  readonly value: SpecValue | readonly SpecValue[]
}

export interface SpecVariable {
  readonly name: string
  readonly dims: readonly string[]
  readonly type: SpecType
  readonly values: readonly SpecValue[]
  readonly attrs: readonly SpecAttr[]
  /** Zarr alone: the fill value of its metadata. */
  readonly fill?: SpecValue | undefined
  /** Zarr alone: chunks of two positions along each dimension, all but the first of them left out. */
  readonly chunked?: boolean
  readonly unwritten?: boolean
}

/** A selection, in words that both sides understand. */
export type SpecStep =
  | { readonly kind: 'isel'; readonly dim: string; readonly at: number | readonly number[] | { readonly slice: readonly (number | null)[] } }
  | { readonly kind: 'sel'; readonly dim: string; readonly label: SpecValue | readonly SpecValue[]; readonly wrapped?: boolean }
  | { readonly kind: 'nearest'; readonly dim: string; readonly label: SpecValue; readonly wrapped?: boolean }
  | { readonly kind: 'range'; readonly dim: string; readonly range: readonly [SpecValue, SpecValue]; readonly wrapped?: boolean }
  /** Times, by positions: their labels are known when they are decoded. */
  | { readonly kind: 'time'; readonly dim: string; readonly how: 'exact' | 'range' | 'month'; readonly at: readonly [number, number] } // biome-ignore format: a list

/** A file, what is selected of it, and how it is written again. */
export interface Spec {
  readonly form: 'nc' | 'v2' | 'v3'
  /** NetCDF alone: with offsets of 64 bits where 2. */
  readonly version?: 1 | 2
  /** NetCDF alone: the dimension that grows. */
  readonly record?: string | undefined
  readonly dims: Readonly<Record<string, number>>
  readonly attrs: readonly SpecAttr[]
  readonly variables: readonly SpecVariable[]
  readonly steps: readonly SpecStep[]
}

const UNITS = [
  'days since 2000-01-01',
  'hours since 1900-01-01 00:00:00',
  'seconds since 1970-01-01T00:00:00Z',
  'minutes since 2001-02-28 12:30',
  'days since 1-1-1',
  'days since 0001-01-01 00:00:00',
  'days since 5-5-1985',
  'days since 13-2-1985',
  'days since 2000-01-01_00:00:00',
  'milliseconds since 1999-12-31 23:59:59.5',
  'microseconds since 2000-01-01',
  'hours since 2000-1-1 6:0:0.0',
  'Days since 1850-01-01 00:00:00 UTC',
  'hours since 2000-01-01 06:00:00 +01:30',
  'days since 1582-10-15',
  'months since 2000-01-15',
  'years since 2000-01-01',
  'day as %Y%m%d.%f',
] as const

const CALENDARS = [
  undefined,
  'standard',
  'gregorian',
  'proleptic_gregorian',
  'noleap',
  '365_day',
  'all_leap',
  '366_day',
  '360_day',
  'julian',
  '',
  'Standard',
  'none', // biome-ignore format: a list
] as const

const LIMITS: Partial<Record<SpecType, readonly [SpecValue, SpecValue]>> = {
  i1: [-128, 127],
  i2: [-32768, 32767],
  i4: [-2147483648, 2147483647],
  i8: ['-9223372036854775808', '9223372036854775807'],
  u1: [0, 255],
  u2: [0, 65535],
  u4: [0, 4294967295],
  u8: ['0', '18446744073709551615'],
}

/** Fill values of unwritten elements, by types of NetCDF. */
export const UNWRITTEN: Partial<Record<SpecType, SpecValue>> = {
  i1: -127,
  i2: -32767,
  i4: -2147483647,
  f4: Math.fround(9.969209968386869e36),
  f8: 9.969209968386869e36,
}

const NUMBERS = {
  nc: ['i1', 'i2', 'i4', 'f4', 'f8'],
  zarr: ['i1', 'i2', 'i4', 'f4', 'f8', 'i8', 'u1', 'u2', 'u4', 'u8'],
} as const

const isFloat = (type: SpecType): boolean => type === 'f4' || type === 'f8'
const isNumber = (value: SpecValue): value is number => typeof value === 'number'

/** A value as a type has it, if it does. */
function as(type: SpecType, value: SpecValue): SpecValue | undefined {
  if (isFloat(type))
    return isNumber(value) ? (type === 'f4' ? Math.fround(value) : value) : /^-?\d+$/.test(value) ? Number(value) : value
  const [low, high] = (LIMITS[type] ?? [0, 1]).map(BigInt)
  if (!isNumber(value) && !/^-?\d+$/.test(value)) return undefined
  if (isNumber(value) && !Number.isInteger(value)) return undefined
  const whole = BigInt(value)
  return whole >= low! && whole <= high! ? (type.endsWith('8') ? String(whole) : Number(whole)) : undefined
}

const pick = <T>(list: readonly T[], at: number): T => list[at % list.length]!

/** An index, or, as often or so many times as seldom, nothing. */
const seldom = (weight: number): fc.Arbitrary<number | undefined> =>
  fc.oneof({ weight: 10, arbitrary: fc.constant(undefined) }, { weight: 10 * weight, arbitrary: fc.nat(1000) })

const dimChoice = fc.record({
  kind: fc.nat(11),
  length: fc.integer({ min: 1, max: 5 }),
  type: fc.nat(9),
  order: fc.nat(7),
  units: fc.nat(1000),
  calendar: seldom(2),
  range: seldom(1),
  odd: seldom(1),
})

const variableChoice = fc.record({
  kind: fc.nat(11),
  dims: fc.nat(31),
  type: fc.nat(1000),
  values: fc.array(fc.nat(1000), { minLength: 1, maxLength: 25 }),
  scale: seldom(1),
  offset: seldom(1),
  factorType: fc.nat(9),
  fill: seldom(1),
  fillKind: fc.nat(9),
  missing: seldom(1),
  missingKind: fc.nat(9),
  unsigned: seldom(0.3),
  range: seldom(0.5),
  rangeKind: fc.nat(11),
  flags: seldom(0.2),
  units: fc.nat(1000),
  calendar: seldom(1),
  storage: fc.nat(7),
  coordinates: seldom(0.3),
  note: seldom(0.3),
})

const stepChoice = fc.record({ kind: fc.nat(6), dim: fc.nat(5), a: fc.nat(20), b: fc.nat(20), c: fc.nat(20) })

type DimChoice = typeof dimChoice extends fc.Arbitrary<infer T> ? T : never
type VariableChoice = typeof variableChoice extends fc.Arbitrary<infer T> ? T : never
type StepChoice = typeof stepChoice extends fc.Arbitrary<infer T> ? T : never

/** Files of all kinds; small ones when they shrink. */
export const specs: fc.Arbitrary<Spec> = fc
  .record({
    form: fc.constantFrom('nc' as const, 'v2' as const, 'v3' as const),
    layout: fc.nat(3),
    dims: fc.array(dimChoice, { minLength: 1, maxLength: 3 }),
    variables: fc.array(variableChoice, { minLength: 1, maxLength: 4 }),
    steps: fc.array(stepChoice, { minLength: 0, maxLength: 6 }),
  })
  .map(({ form, layout, dims, variables, steps }) => build(form, layout, dims, variables, steps))

interface Dim {
  readonly name: string
  readonly length: number
  /** Labels that selections ask for, if there are any. */
  readonly labels?: readonly SpecValue[] | undefined
  readonly wrapped?: boolean
}

function build(
  form: Spec['form'],
  layout: number,
  dimChoices: readonly DimChoice[],
  variableChoices: readonly VariableChoice[],
  stepChoices: readonly StepChoice[],
): Spec {
  const variables: SpecVariable[] = []
  const dims: Dim[] = dimChoices.map((choice, i) => buildDim(form, choice, i, variables))
  const extra: Record<string, number> = {}
  variableChoices.forEach((choice, i) => {
    variables.push(...buildVariable(form, choice, i, dims, extra))
  })
  const all = { ...Object.fromEntries(dims.map(({ name, length }) => [name, length])), ...extra }
  const steps = stepChoices.flatMap((choice) => buildStep(choice, dims))
  const attrs: SpecAttr[] = layout === 1 ? [{ name: 'title', type: 'S', value: 'Täst' }, { name: 'level', type: 'f8', value: 10 }] : [] // biome-ignore format: a list
  const record = form === 'nc' && layout > 1 ? dims[0]!.name : undefined
  // Classic NetCDF takes the record dimension as the first one alone.
  const growing = record !== undefined && variables.every(({ dims }) => dims.lastIndexOf(record) <= 0)
  return {
    form,
    ...(form === 'nc' && { version: layout === 3 ? 2 : 1 }),
    ...(growing && { record }),
    dims: all,
    attrs,
    variables,
    steps,
  }
}

const numbersOf = (form: Spec['form']): readonly SpecType[] => (form === 'nc' ? NUMBERS.nc : NUMBERS.zarr)

function ordered<T>(list: readonly T[], order: number): T[] {
  const [first] = list
  if (order === 1) return [...list].reverse()
  if (order === 2 && list.length > 2) return [list[1]!, list[0]!, ...list.slice(2)]
  // One label twice: next to each other, at both ends, and going down.
  if (order === 3 && list.length > 1) return [first!, first!, ...list.slice(2)]
  if (order === 4 && list.length > 2) return [...list.slice(0, -1), first!]
  if (order === 5 && list.length > 1) return [first!, first!, ...list.slice(2)].reverse()
  return [...list]
}

function buildDim(form: Spec['form'], choice: DimChoice, i: number, variables: SpecVariable[]): Dim {
  const { kind, length, order, units, calendar, range, odd } = choice
  const plainName = 'xyz'[i]!
  const add = (variable: Omit<SpecVariable, 'dims' | 'values'> & { values: SpecValue[] }): void =>
    void variables.push({ ...variable, dims: [variable.name] })
  if (kind <= 1) return { name: plainName, length }
  const type = pick(numbersOf(form), choice.type)
  if (kind <= 3) {
    const values = ordered(
      Array.from({ length }, (_, at) => as(type, 2 + 3 * at)!),
      order,
    )
    const attrs: SpecAttr[] = range === undefined ? [] : [{ name: 'valid_min', type, value: as(type, 4)! }]
    if (odd !== undefined && form === 'nc') attrs.push({ name: 'long_name', type: 'S', value: 'position' })
    add({ name: plainName, type, values, attrs })
    return { name: plainName, length, labels: values }
  }
  if (kind <= 5) {
    // Longitudes: from 0, from -180, with both ends of the circle, of a region.
    const float = type === 'f4' ? 'f4' : 'f8'
    const grids = [[0, 90, 180, 270], [-180, -90, 0, 90], [-180, -90, 0, 90, 180], [0, 90, 180, 270, 360], [10, 20, 30.5]] // biome-ignore format: a list
    const grid = pick(grids, units)
    const values = order === 1 ? [...grid].reverse() : grid
    const name = i === 0 ? 'lon' : `lon${i}`
    add({ name, type: float, values, attrs: [{ name: 'units', type: 'S', value: 'degrees_east' }] })
    return { name, length: values.length, labels: values, wrapped: true }
  }
  if (kind <= 8) {
    const name = i === 0 ? 'time' : `time${i}`
    const [text, known] = [pick(UNITS, units), calendar === undefined ? undefined : pick(CALENDARS, calendar)]
    const own = type === 'i1' || type === 'u1' ? 'f8' : type
    const raw = ordered(
      Array.from({ length }, (_, at) => as(own, isFloat(own) && odd !== undefined ? at * 0.5 : 1 + at * 10)!),
      order,
    )
    const attrs: SpecAttr[] = [{ name: 'units', type: 'S', value: text }]
    if (known !== undefined) attrs.push({ name: 'calendar', type: 'S', value: known })
    // A time that is not there.
    if (odd !== undefined && odd % 3 === 0 && !isFloat(own)) attrs.push({ name: '_FillValue', type: own, value: raw.at(-1)! })
    if (odd !== undefined && odd % 3 === 1 && isFloat(own)) raw[raw.length - 1] = 'nan'
    add({ name, type: own, values: raw, attrs })
    return { name, length }
  }
  if (kind === 9 && form !== 'nc') {
    const values = ordered(['a', 'bé', 'c', 'dd', 'e'].slice(0, length), order)
    add({ name: plainName, type: 'text', values, attrs: [] })
    return { name: plainName, length, labels: values }
  }
  if (kind === 9 || kind === 10) {
    // One character for each position.
    const values = ordered([...'ABCDE'].slice(0, length), order)
    add({ name: plainName, type: 'S1', values, attrs: [] })
    return { name: plainName, length, labels: values }
  }
  const name = i === 0 ? 'lat' : `lat${i}`
  const values = ordered([-90, -30, 0, 45, 90].slice(0, length), order)
  const attrs: SpecAttr[] = [{ name: 'units', type: 'S', value: 'degrees_north' }]
  if (range !== undefined) attrs.push({ name: 'valid_min', type: 'f8', value: -89 }, { name: 'valid_max', type: 'f8', value: 89 })
  add({ name, type: type === 'f4' ? 'f4' : 'f8', values, attrs })
  return { name, length, labels: values }
}

const NAMES = ['t', 'u', 'v', 'w'] as const

function buildVariable(
  form: Spec['form'],
  choice: VariableChoice,
  i: number,
  known: readonly Dim[],
  extra: Record<string, number>,
): SpecVariable[] {
  const name = NAMES[i]!
  const own = known.filter((_, at) => (choice.dims >> at) & 1)
  let dims = own.map((dim) => dim.name)
  if (choice.dims >> 3 === 3 && own.length === 1) dims = [own[0]!.name, own[0]!.name]
  const lengthOf = (dim: string): number => known.find((each) => each.name === dim)?.length ?? extra[dim]!
  const { kind, storage } = choice
  const attrs: SpecAttr[] = []
  const note = (): void => {
    if (choice.note !== undefined) attrs.push({ name: 'note', ...pick(NOTES, choice.note) })
    if (choice.coordinates !== undefined) attrs.push({ name: 'coordinates', type: 'S', value: pick(NAMES, choice.coordinates) })
  }
  const stored = form === 'nc' ? {} : { chunked: storage % 2 === 1, unwritten: storage === 5 }
  const drawn = <T>(pool: readonly T[], count: number): T[] =>
    Array.from({ length: count }, (_, at) =>
      pick(pool, choice.values[at % choice.values.length]! + Math.floor(at / choice.values.length)),
    )
  const size = (): number => dims.reduce((product, dim) => product * lengthOf(dim), 1)
  if (kind === 0 || kind === 1) {
    // Texts, or characters that are flags of positions.
    if (form !== 'nc' && kind === 0) {
      note()
      return [{ name, dims, type: 'text', values: drawn(['', 'a', 'bé', 'ccc', ' d '], size()), attrs, ...stored }]
    }
    if (kind === 0 || dims.length === 0) {
      const dim = `n${choice.type % 2}`
      extra[dim] = 3
      dims = [...dims, dim]
    }
    if (choice.fill !== undefined) attrs.push({ name: '_FillValue', type: 'S', value: ' ' })
    note()
    const fill = form === 'nc' ? {} : { fill: storage > 3 ? '' : null } as { fill?: SpecValue } // biome-ignore format: one line
    return [
      {
        name,
        dims,
        type: 'S1',
        values: drawn(['A', 'b', ' ', '\0', '1'], size()),
        attrs: form === 'v3' ? attrs.filter(({ name }) => name !== '_FillValue') : attrs,
        ...fill,
        ...stored,
        unwritten: false,
      },
    ]
  }
  if (kind === 2 && form === 'v2') {
    const type = pick(['M8[s]', 'M8[ns]', 'm8[s]'] as const, choice.type)
    const pool = type.startsWith('M')
      ? ['2000-01-01', '2001-02-03T04:05:06', 'NaT', '1969-12-31T23:59:59']
      : ['1', '-5', 'NaT', '86400']
    return [{ name, dims, type, values: drawn(pool, size()), attrs, ...stored, unwritten: false }]
  }
  if (kind === 3 && form !== 'nc') return [{ name, dims, type: 'b1', values: drawn([0, 1], size()), attrs, ...stored }]
  const type = pick(numbersOf(form), choice.type)
  if (kind <= 5) {
    const [units, calendar] = [
      pick(UNITS, choice.units),
      choice.calendar === undefined ? undefined : pick(CALENDARS, choice.calendar),
    ]
    const stored8 = type === 'i1' || type === 'u1' || type === 'i8'
    const duration = kind === 5 && choice.units % 3 === 0
    attrs.push({ name: 'units', type: 'S', value: duration ? 'hours' : units })
    if (duration && form !== 'nc') attrs.push({ name: 'dtype', type: 'S', value: 'timedelta64[ns]' })
    if (!duration && calendar !== undefined) attrs.push({ name: 'calendar', type: 'S', value: calendar })
    const own = stored8 && form !== 'nc' ? 'i8' : type === 'i1' ? 'f8' : type
    const fill = as(own, -999) ?? as(own, 99)!
    if (choice.fill !== undefined)
      attrs.push({ name: pick(['_FillValue', 'missing_value'], choice.fillKind), type: own, value: fill })
    const pool: SpecValue[] = [0, 1, 31, 59.5, 0.1, 1000, 'nan', '-9223372036854775808'].flatMap((value) => as(own, value) ?? [])
    if (choice.fill !== undefined) pool.push(fill)
    note()
    // Only int64 has the smallest integer; float32 and int32 do not.
    return [
      {
        name,
        dims,
        type: own,
        values: drawn(isFloat(own) ? pool.filter((value) => typeof value === 'string' || Math.abs(value) < 1e6) : pool, size()),
        attrs,
        ...stored,
        unwritten: false,
      },
    ]
  }
  return numeric(form, choice, type, { name, dims, size: size(), drawn, note, attrs, stored })
}

const NOTES: readonly Pick<SpecAttr, 'type' | 'value'>[] = [
  { type: 'S', value: 'plain text' },
  { type: 'S', value: 'é ü 漢' },
  { type: 'f8', value: 10 },
  { type: 'f4', value: 0.5 },
  { type: 'i4', value: 3 },
  { type: 'f8', value: [1, 2.5] },
  { type: 'i2', value: [1, 2, 3] },
  { type: 'f8', value: [1] },
  { type: 'f8', value: 1e300 },
  { type: 'f8', value: [0, 100] },
]

interface Numeric {
  readonly name: string
  readonly dims: readonly string[]
  readonly size: number
  readonly drawn: <T>(pool: readonly T[], count: number) => T[]
  readonly note: () => void
  readonly attrs: SpecAttr[]
  readonly stored: object
}

function numeric(form: Spec['form'], choice: VariableChoice, type: SpecType, given: Numeric): SpecVariable[] {
  const { name, dims, size, drawn, note, attrs, stored } = given
  const [low, high] = LIMITS[type] ?? [undefined, undefined]
  const pool: SpecValue[] = [0, 1, 2, 50, 100, -1, -5, 127, 200, 0.5, 1.25, -999, 'nan', 'inf'].flatMap(
    (value) => as(type, value) ?? [],
  )
  if (low !== undefined) pool.push(low, high!)
  if (form === 'nc' && UNWRITTEN[type] !== undefined) pool.push(UNWRITTEN[type])
  const factorTypes: SpecType[] = ['f4', 'f8', 'f4', 'f8', 'f4', 'f8', 'i2', 'i4', 'f8', 'f4']
  const push = (name: string, type: SpecType, value: SpecValue | SpecValue[]): void => void attrs.push({ name, type, value })
  const factorType = factorTypes[choice.factorType]!
  const factor = (name: string, at: number, list: readonly number[]): void => {
    // Both are of one type as a rule.
    const own = at % 7 === 6 ? (factorType === 'f4' ? 'f8' : 'f4') : factorType
    const value = pick(list, at)
    if (at % 29 === 28) push(name, 'S', String(value))
    else push(name, own, as(own, value) ?? as(own, Math.round(value) || 2) ?? 2)
  }
  if (choice.scale !== undefined) factor('scale_factor', choice.scale, [0.01, 0.5, 2, 0.1, 10, 1])
  if (choice.offset !== undefined) factor('add_offset', choice.offset, [273.15, 0, -5, 10, 100000])
  const fillOf = (kind: number, isFill: boolean): { type: SpecType; value: SpecValue | SpecValue[] } => {
    const usual = as(type, -999) ?? as(type, 127)!
    if (kind === 1 && isFloat(type)) return { type, value: 'nan' }
    if (kind === 1 && form !== 'nc' && !isFill) return { type: 'f8', value: 'nan' }
    if (kind === 2) return { type, value: low ?? 1e20 }
    if (kind === 3) return { type, value: high ?? Math.fround(-1e20) }
    // The other sign, which bytes and shorts have.
    if (kind === 4 && !isFloat(type) && form === 'nc') return { type, value: as(type, -1)! }
    if (kind === 5) return { type, value: as(type, 0)! }
    return { type, value: usual }
  }
  if (choice.fill !== undefined) {
    const { type: own, value } = fillOf(choice.fillKind, true)
    push('_FillValue', own, type === 'f4' && isNumber(value as SpecValue) ? Math.fround(value as number) : value)
  }
  if (choice.missing !== undefined) {
    const kind = choice.missingKind
    if (kind === 6) push('missing_value', type, [as(type, 1)!, as(type, 50)!])
    else if (kind === 7) push('missing_value', 'S', 'NaN')
    else if (kind === 8 && type === 'f4') push('missing_value', 'f8', -999)
    else if (kind === 9) push('missing_value', type, as(type, 2)!)
    else {
      const { type: own, value } = fillOf(kind, false)
      push('missing_value', own, type === 'f4' && isNumber(value as SpecValue) ? Math.fround(value as number) : value)
    }
  }
  // For 64-bit integers, xarray compares floats and takes other values for the fill value.
  if (choice.unsigned !== undefined && !isFloat(type) && !type.endsWith('8'))
    push(
      '_Unsigned',
      'S',
      pick(type.startsWith('u') ? ['false', 'false', 'true'] : ['true', 'true', 'True', 'false'], choice.unsigned),
    )
  if (choice.flags !== undefined && !isFloat(type)) {
    push('flag_values', type, [as(type, 0)!, as(type, 1)!])
    push('flag_meanings', 'S', 'no yes')
  }
  if (choice.range !== undefined) {
    const kind = choice.rangeKind
    const other: SpecType = kind === 4 ? 'f4' : kind === 5 ? 'f8' : kind === 6 ? 'i2' : kind === 7 ? 'i4' : type
    const own = form === 'nc' || !other.startsWith('u') ? other : type
    const [least, most] = pick<readonly [number, number]>([[0, 100], [1, 50], [-5, 2], [0, 200], [-1, 127]], choice.range) // biome-ignore format: a list
    const end = (value: number): SpecValue => as(own, value) ?? as(own, 1)!
    if (kind === 8) push('valid_range', 'S', '0, 100')
    else if (kind === 9) push('valid_min', own, end(least))
    else if (kind === 10) push('valid_max', own, end(most))
    else if (kind === 3)
      attrs.push({ name: 'valid_min', type: own, value: end(least) }, { name: 'valid_max', type: own, value: end(most) }) // biome-ignore format: one line
    else push('valid_range', own, [end(least), end(most)])
  }
  for (const { name, value } of attrs)
    if (/Fill|missing/.test(name)) for (const each of Array.isArray(value) ? value : [value]) pool.push(...[as(type, each) ?? []].flat().filter((each) => each !== 'NaN'), ...[as(type, each) ?? []].flat().filter((each) => each !== 'NaN')) // biome-ignore format: one line
  if (choice.units % 4 === 0) push('units', 'S', 'K')
  note()
  // In version 3 the fill value of the metadata says nothing about what is missing.
  const fills: (SpecValue | undefined)[] = [
    undefined,
    as(type, 0),
    as(type, 1),
    isFloat(type) ? 'nan' : as(type, 2),
    as(type, 50),
  ]
  const fill = form === 'v3' ? { fill: pick(fills, choice.storage) } : {}
  return [{ name, dims, type, values: drawn(pool, size), attrs, ...fill, ...stored }]
}

function buildStep({ kind, dim: at, a, b, c }: StepChoice, dims: readonly Dim[]): SpecStep[] {
  const { name: dim, length, labels, wrapped } = pick(dims, at)
  if (dim.startsWith('time') && kind > 2)
    return [{ kind: 'time', dim, how: pick(['exact', 'range', 'month'] as const, c), at: [a, b] }]
  if (kind <= 1 || labels === undefined) {
    if (a % 3 === 0) return [{ kind: 'isel', dim, at: (b % length) - (c % 2) * length }]
    if (a % 3 === 1) return [{ kind: 'isel', dim, at: [b % length, c % length, b % length] }]
    const step = pick([1, 2, -1, -2], c)
    return [{ kind: 'isel', dim, at: { slice: [b % 3 === 0 ? null : b % (length + 1), null, step] } }]
  }
  const label = (index: number): SpecValue => pick(labels, index)
  const isText = typeof labels[0] === 'string' && !/^-?\d+$/.test(labels[0])
  const number = (index: number): number => Number(label(index))
  if (wrapped === true) {
    const turn = pick([0, 360, -360], c)
    if (kind === 2) return [{ kind: 'sel', dim, label: number(a) + turn, wrapped }]
    if (kind === 3) return [{ kind: 'nearest', dim, label: number(a) + turn + pick([1, -2, 0.3], b), wrapped }]
    const low = pick([-180, 0, -100, 80, 170, -10, 350], a)
    return [{ kind: 'range', dim, range: [low, low + pick([10, 100, 180, 270, 360], b)], wrapped }]
  }
  if (kind === 2) return [{ kind: 'sel', dim, label: isText || c % 4 > 0 ? label(a) : number(a) + 1 }]
  if (kind === 3) return [{ kind: 'sel', dim, label: [label(a), label(b)] }]
  if (kind === 4 && !isText) return [{ kind: 'nearest', dim, label: number(a) + pick([1, 0, -1], b) }]
  const [low, high] = [label(a), label(b)]
  const isUp = isText ? low <= high : Number(low) <= Number(high)
  return [{ kind: 'range', dim, range: isUp ? [low, high] : [high, low] }]
}
