import type { FoldOptions } from '../../array/reductions/fold-kinds.ts'
import { indexAt } from '../../core/axis-indices.ts'
import { HyperslabError } from '../../core/errors.ts'
import { toTimestamp } from '../../core/timestamp.ts'
import { formatNamed } from '../../tree/formats.ts'
import { Between, type LabelLike } from '../between.ts'
import type { Coords, Labelled } from '../coords.ts'
import type { ShiftOptions } from '../dims.ts'
import type { LabelIndex } from '../label-index.ts'
import type { SelOptions, Taken } from '../label-selectors.ts'
import type { Label } from '../label-values.ts'
import type { Origin } from '../origin.ts'
import type { KeepDimsOptions, ReduceDimsOptions } from '../reductions.ts'
import type { ResampleOptions } from '../resample.ts'
import type { SortOptions } from '../sort-by.ts'
import { type Calendar, isOfDates } from '../time/calendar.ts'
import { showInstant, timeFields } from '../time/instant.ts'
import { parseTimeLabel } from '../time/labels.ts'
import type { CoarsenOptions, RollingOptions } from '../windows.ts'

/** An array or a dataset, with its recorded origin. */
type Recorded = Partial<Labelled> & {
  readonly origin?: Origin | undefined
  readonly parts?: { readonly origin?: Origin | undefined; readonly coords: Coords }
}

/** Implements {@link DataArray.toPython}. */
export function writePython(array: Recorded): string {
  const script = new Script()
  const result = script.expression(array)
  const imports = ['import xarray as xr', ...[...script.imports].sort()]
  return [...imports, '', ...script.opened.values(), `array = ${result}`, ''].join('\n')
}

const OPERATORS: Readonly<Record<string, string>> = {
  add: '+',
  sub: '-',
  mul: '*',
  div: '/',
  lt: '<',
  le: '<=',
  gt: '>',
  ge: '>=',
  eq: '==',
  ne: '!=',
  and: '&',
  or: '|',
}

/** A recorded operation: the object that it was called on, its arguments, and the call of another method. */
interface RecordedCall {
  readonly from: Recorded
  readonly args: readonly unknown[]
  call(method: string, ...given: readonly string[]): string
}

class Script {
  readonly imports = new Set<string>()
  /** Lines that open files, by their expressions. */
  readonly opened = new Map<string, string>()

  expression(made: Recorded): string {
    const origin = made.origin ?? made.parts?.origin
    if (origin === undefined) return refuse('what is made of values in memory, or of several files', undefined)
    const { of, name, args } = origin
    if (name === 'open') return this.#open(args)
    const from = of as Recorded
    const call = (method: string, ...given: readonly string[]): string =>
      `${this.expression(from)}.${method}(${given.filter((each) => each !== '').join(', ')})`
    if (Object.hasOwn(this.#calls, name)) return this.#calls[name]!({ from, args, call })
    return Object.hasOwn(OPERATORS, name) ? this.#arithmetic(from, name, args[0]) : refuse(name, name)
  }

  /** Expressions of operations by their names. */
  readonly #calls: Readonly<Record<string, (recorded: RecordedCall) => string>> = {
    get: ({ from, args }) => `${this.expression(from)}[${text(args[0])}]`,
    sel: ({ from, args, call }) => call('sel', ...this.#selectors(from, args)),
    isel: ({ args, call }) =>
      call('isel', pairs([...(args[0] as Map<string, Taken>)].map(([dim, taken]) => [dim, positions(taken)]))),
    reduce: ({ from, args }) => this.#reduced(this.expression(from), args[0], args[1]),
    quantile: ({ args, call }) =>
      call(
        'quantile',
        Array.isArray(args[0]) ? `[${args[0].map(number).join(', ')}]` : number(args[0] as number),
        ...reduction('quantile', args[1]),
      ),
    where: ({ args, call }) => {
      if (typeof args[0] === 'function') return refuse('where with a function', args[0])
      return call('where', this.expression(args[0] as Recorded))
    },
    not: ({ from }) => `(~${this.expression(from)})`,
    abs: ({ from }) => `abs(${this.expression(from)})`,
    sqrt: ({ from }) => this.#numpy('sqrt', from),
    log: ({ from }) => this.#numpy('log', from),
    exp: ({ from }) => this.#numpy('exp', from),
    groupBy: ({ args, call }) => {
      const [key, given, kind, options, q] = args
      checkPeriods(given)
      const groups = typeof key === 'string' ? ['groupby', text(key)] : ['groupby_bins', ...bins(key)]
      return this.#reduced(call(groups[0]!, ...groups.slice(1)), kind, options, q)
    },
    resample: ({ args, call }) => {
      const { minPeriods: _, ...given } = args[1] as ResampleOptions
      checkPeriods(args[1])
      const words = Object.entries(given).map(([name, value]) => `${name}=${text(value)}`)
      return this.#reduced(call('resample', pairs(entries(args[0], text)), ...words), args[2], args[3], args[4])
    },
    rolling: ({ args, call }) => {
      const { center, minPeriods } = args[1] as RollingOptions
      checkWindows('rolling', args[2])
      const given = [center ? 'center=True' : '', minPeriods === undefined ? '' : `min_periods=${minPeriods}`]
      return this.#reduced(call('rolling', pairs(entries(args[0], String)), ...given), args[2], args[3])
    },
    coarsen: ({ args, call }) => {
      const { boundary } = args[1] as CoarsenOptions
      checkWindows('coarsen', args[2])
      if ((args[3] as ReduceDimsOptions).skipMissing === false) refuse('coarsen with `skipMissing: false`', args[3])
      const given = boundary === undefined ? '' : `boundary=${text(boundary)}`
      return this.#reduced(call('coarsen', pairs(entries(args[0], String)), given), args[2], {
        ...(args[3] as object),
        skipMissing: true,
      })
    },
    weighted: ({ args, call }) => this.#reduced(call('weighted', this.expression(args[0] as Recorded)), args[1], args[2]),
    cumsum: ({ args, call }) => call('cumsum', ...reduction('cumsum', { ...Object(args[1]), axis: args[0] })),
    fillna: ({ args, call }) => call('fillna', this.#fill(args[0])),
    isnull: ({ call }) => call('isnull'),
    notnull: ({ call }) => call('notnull'),
    clip: ({ args, call }) => call('clip', ...keywords({ min: args[0], max: args[1] })),
    round: ({ args, call }) => call('round', String(args[0])),
    astype: ({ args, call }) => call('astype', text(args[0])),
    transpose: ({ args, call }) => call('transpose', ...((args[0] ?? []) as string[]).map(text)),
    expandDims: ({ args, call }) => call('expand_dims', text(args[0]), ...keywords({ axis: args[1] })),
    sortBy: ({ args, call }) => {
      const keys = (Array.isArray(args[0]) ? args[0] : [args[0]]).map((key) =>
        typeof key === 'string' ? text(key) : this.expression(key as Recorded),
      )
      return call('sortby', `[${keys.join(', ')}]`, (args[1] as SortOptions).ascending === false ? 'ascending=False' : '')
    },
    diff: ({ args, call }) => call('diff', text(args[0]), ...keywords(Object(args[1]))),
    shift: ({ args, call }) => {
      const { fillValue } = Object(args[1]) as ShiftOptions
      return call(
        'shift',
        dictionary(entries(args[0], String)),
        fillValue === undefined ? '' : `fill_value=${this.#fill(fillValue)}`,
      )
    },
    cos: ({ from, args }) => {
      this.imports.add('import numpy as np')
      return args[0] ? `np.cos(np.deg2rad(${this.expression(from)}))` : `np.cos(${this.expression(from)})`
    },
    rename: ({ args, call }) => call('rename', typeof args[0] === 'string' ? text(args[0]) : dictionary(entries(args[0], text))),
    interp: ({ from, args, call }) => {
      for (const dim of Object.keys(args[0] as object))
        checkOneRound(dim, (from.coordinates ?? from.parts!.coords).get(dim)?.index)
      return call('interp', pairs(entries(args[0], (value) => this.#between(value))))
    },
    swapDims: ({ args, call }) => call('swap_dims', dictionary(entries(args[0], text))),
    setCoords: ({ args, call }) => call('set_coords', `[${(args[0] as string[]).map(text).join(', ')}]`),
    drop: ({ args, call }) => call('drop_vars', `[${(args[0] as string[]).map(text).join(', ')}]`),
    merge: ({ from, args }) => {
      const all = [from, ...(args[0] as Recorded[])].map((each) => this.expression(each))
      return `xr.merge([${all.join(', ')}], join="exact")`
    },
  }

  /** Returns the values that replace missing ones. */
  #fill(value: unknown): string {
    if (typeof value === 'number' || typeof value === 'bigint') return number(value)
    if (typeof value === 'string') return text(value)
    if (typeof value === 'boolean') return value ? 'True' : 'False'
    if (value instanceof Date) return this.#instant(toTimestamp(value))
    const array = value as Recorded
    return array.origin === undefined ? dictionary(entries(value, (each) => this.#fill(each))) : this.expression(array)
  }

  #open([place, decode]: readonly unknown[]): string {
    const { format, path, group } = place as { format: string; path: string; group?: string }
    const engine = formatNamed(format)?.xarray ?? refuse(`a file of the format '${format}', which xarray does not open`, path)
    const given = [text(path), engine, group === undefined ? '' : `group=${text(group)}`, decode ? '' : 'decode_cf=False']
    const opens = `xr.open_dataset(${given.filter((each) => each !== '').join(', ')})`
    const line = this.opened.get(opens) ?? `ds${this.opened.size === 0 ? '' : this.opened.size + 1} = ${opens}`
    this.opened.set(opens, line)
    return line.slice(0, line.indexOf(' '))
  }

  /** @param q share of a quantile */
  #reduced(groups: string, kind: unknown, options: unknown, q?: unknown): string {
    if (kind === 'count' && (options as ReduceDimsOptions | undefined)?.skipMissing === false)
      refuse('count with `skipMissing: false`', options)
    if (kind === 'countNonzero') refuse('countNonzero', options)
    const given = [kind === 'quantile' ? number(q as number) : '', ...reduction(kind, options)]
    return `${groups}.${pythonMethod(kind)}(${given.filter((each) => each !== '').join(', ')})`
  }

  #arithmetic(left: Recorded, operation: string, right: unknown): string {
    const operator = OPERATORS[operation]!
    if (typeof right !== 'object' || right instanceof Date)
      return `(${this.expression(left)} ${operator} ${this.#operand(left, right)})`
    const [a, b] = [left as Labelled, right as Labelled]
    return `(${this.#spread(a, b)} ${operator} ${this.#spread(b, a)})`
  }

  /** Returns a value that an array is combined with. Nanoseconds stand for times beside times. */
  #operand({ variable }: Recorded, value: unknown): string {
    return typeof value === 'bigint' && variable?.array.dtype === 'timestamp_ns' ? this.#instant(value) : this.#fill(value)
  }

  #numpy(name: string, from: Recorded): string {
    this.imports.add('import numpy as np')
    return `np.${name}(${this.expression(from)})`
  }

  /** Returns an operand, grouped like the other one. */
  #spread(operand: Labelled, other: Labelled): string {
    const own = this.expression(operand as Recorded)
    const grouped = [...other.coordinates.values()].find(
      (coord) =>
        coord.grouped !== undefined && operand.coordinates.has(coord.grouped.dim) && !operand.variable.dims.includes(coord.name),
    )
    return grouped === undefined ? own : `${own}.groupby(${text(grouped.grouped!.key)})`
  }

  /** Returns the arguments of `sel`. Labels found exactly appear as in the coordinate. */
  #selectors(from: Recorded, [found, labels, options = {}]: readonly unknown[]): string[] {
    const coords = (from.coordinates ?? from.parts?.coords)!
    const { method, tolerance } = options as SelOptions
    const all = [...(found as Map<string, Taken>)].map(([dim, taken]): [string, string] => {
      const index = coords.get(dim)!.index!
      // For descending labels, xarray's `pad` selects the greater label, and `backfill` the smaller one.
      const isNear = method === 'nearest' || (method !== undefined && index.direction > 0)
      return [dim, this.#selector(index, taken, (labels as Record<string, LabelLike>)[dim]!, isNear)]
    })
    const given = [method === undefined ? '' : `method=${text(method)}`, this.#tolerance(tolerance)]
    return [pairs(all), ...(method === undefined ? [] : given)]
  }

  #selector(index: LabelIndex, taken: Taken, label: unknown, isNear: boolean): string {
    const { calendar, period } = index.kind
    if ('position' in taken) {
      if (!isNear) return this.#label(index, index.at(taken.position))
      if (calendar !== undefined) return this.#label(index, parseTimeLabel(label as never, calendar).start)
      const isInside = period === undefined || Math.abs((label as number) - (index.at(taken.position) as number)) < period / 2
      return isInside ? this.#label(index, label as Label) : this.#label(index, index.at(taken.position))
    }
    const [part, ...more] = taken.parts
    if (more.length > 0 || part!.shift !== 0)
      return refuse(`sel through the end of ${index.dim}, which begins anew after ${period}`, label)
    if (Array.isArray(label)) {
      const list = Array.from({ length: part!.positions.length }, (_, i) =>
        this.#label(index, index.at(indexAt(part!.positions, i))),
      )
      return calendar !== undefined && list[0]?.startsWith('np.') ? `np.array([${list.join(', ')}])` : `[${list.join(', ')}]`
    }
    if (typeof label === 'string') return text(label)
    if (!(label instanceof Between)) return refuse('sel of this label', label)
    const ends = [label.low, label.high].map((end) =>
      typeof end === 'string' && calendar !== undefined ? text(end) : this.#end(index, end),
    )
    return `slice(${(index.direction < 0 ? ends.reverse() : ends).join(', ')})`
  }

  #end(index: LabelIndex, end: LabelLike): string {
    const { calendar } = index.kind
    return this.#label(index, calendar === undefined ? (end as Label) : parseTimeLabel(end as never, calendar).start)
  }

  #label({ kind: { calendar, dtype } }: LabelIndex, label: Label): string {
    if (calendar === undefined) return typeof label === 'string' ? text(label) : number(label as number)
    return dtype === 'timestamp_ns' || isOfDates(calendar)
      ? this.#instant(label as bigint)
      : this.#cftime(label as bigint, calendar)
  }

  #instant(instant: bigint): string {
    this.imports.add('import numpy as np')
    return `np.datetime64(${text(showInstant(instant, 'proleptic_gregorian'))}, "ns")`
  }

  #cftime(instant: bigint, calendar: Calendar): string {
    this.imports.add('import cftime')
    const { year, month, day, hour, minute, second, nanosecond } = timeFields(instant, calendar)
    const parts = [year, month, day, hour, minute, second, Math.floor(nanosecond / 1000)]
    return `cftime.datetime(${parts.join(', ')}, calendar=${text(calendar)})`
  }

  /** Returns numeric labels for interpolation. */
  #between(value: unknown): string {
    if (typeof value === 'number') return number(value)
    const isNumbers = Array.isArray(value) && value.every((each) => typeof each === 'number')
    return isNumbers ? `[${value.map(number).join(', ')}]` : refuse('interp at labels that are no numbers', value)
  }

  #tolerance(tolerance: SelOptions['tolerance']): string {
    if (tolerance === undefined) return ''
    if (typeof tolerance === 'number') return `tolerance=${number(tolerance)}`
    this.imports.add('import pandas as pd')
    return `tolerance=pd.Timedelta(${typeof tolerance === 'bigint' ? `${tolerance}, "ns"` : text(tolerance)})`
  }
}

/** Refuses cyclic longitudes, because xarray does not interpolate across their seam. */
function checkOneRound(dim: string, index: LabelIndex | undefined): void {
  if (index?.kind.period !== undefined) refuse(`interp along ${dim}, which begins anew after ${index.kind.period}`, dim)
}

function refuse(what: string, actual: unknown): never {
  throw new HyperslabError('UnsupportedError', `there is no code of xarray for ${what}`, { actual })
}

/** Returns a Python literal of a text. JSON text is valid in Python. */
const text = (value: unknown): string => JSON.stringify(String(value))

const number = (value: number | bigint): string => {
  // Python compares integers exactly, and String rounds digits beyond 2^53.
  const isLarge = Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value as number) <= 2 ** 64
  const shown = String(isLarge ? BigInt(value) : value)
  return /\d$/.test(shown) ? shown : `float(${text(shown)})`
}

const entries = (values: unknown, show: (value: unknown) => string): [string, string][] =>
  Object.entries(values as object).map(([key, value]) => [key, show(value)])

const dictionary = (all: readonly (readonly [string, string])[]): string =>
  `{${all.map(([key, value]) => `${text(key)}: ${value}`).join(', ')}}`

/** Returns keyword arguments, or a dictionary if a name is not allowed as keyword. */
const pairs = (all: readonly (readonly [string, string])[]): string =>
  all.every(([key]) => /^[A-Za-z_]\w*$/.test(key) && !RESERVED.test(key))
    ? all.map(([key, value]) => `${key}=${value}`).join(', ')
    : dictionary(all)

/** Keywords of Python, and names of other arguments. */
const RESERVED =
  /^(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield|method|tolerance|drop|indexers|missing_dims|dim|center|min_periods|boundary|side|indexer)$/

/** Returns keyword arguments of numbers and texts; undefined ones are omitted. */
const keywords = (values: object): string[] =>
  Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${typeof value === 'number' ? number(value) : text(value)}`],
  )

const METHODS: Readonly<Record<string, string>> = {
  variance: 'var',
  argMin: 'argmin',
  argMax: 'argmax',
  idxMin: 'idxmin',
  idxMax: 'idxmax',
}
const REDUCTIONS = /^(sum|mean|min|max|prod|count|any|all|variance|std|median|quantile|argM(in|ax)|idxM(in|ax))$/

function pythonMethod(kind: unknown): string {
  const name = String(kind)
  return REDUCTIONS.test(name) ? (METHODS[name] ?? name) : refuse(name, kind)
}

/** Refuses quantiles of windows, which xarray does not have. */
function checkWindows(windows: string, kind: unknown): void {
  if (kind === 'quantile') refuse(`quantile of ${windows}`, kind)
}

/** Reductions of xarray that do not keep dimensions. */
const DROPS = /^(quantile|argM|idxM)/

function reduction(kind: unknown, options: unknown): string[] {
  const { axis, skipMissing, keepDims, ddof } = (options ?? {}) as KeepDimsOptions & FoldOptions
  if (keepDims && DROPS.test(String(kind))) refuse(`${String(kind)} with \`keepDims: true\``, options)
  const dims = typeof axis === 'string' ? text(axis) : axis && `[${axis.map(text).join(', ')}]`
  // These never skip missing values in xarray.
  const skips = kind === 'any' || kind === 'all' || skipMissing !== false
  const given = [skips ? '' : 'skipna=False', keepDims ? 'keepdims=True' : '', ddof === undefined ? '' : `ddof=${ddof}`]
  return [dims === undefined ? '' : `dim=${dims}`, ...given]
}

function bins(key: unknown): string[] {
  const [[name, edges] = ['', []]] = Object.entries(key as Record<string, number[]>)
  return [text(name), `[${edges.map(number).join(', ')}]`]
}

function positions(taken: Taken): string {
  if ('position' in taken) return String(taken.position)
  const [{ positions: own }] = taken.parts as [Extract<Taken, { parts: unknown }>['parts'][number]]
  if (own instanceof Float64Array) return `[${Array.from(own).join(', ')}]`
  const stop = own.start + own.step * own.length
  return `slice(${own.start}, ${stop < 0 ? 'None' : stop}${own.step === 1 ? '' : `, ${own.step}`})`
}

/** @throws UnsupportedError for `minPeriods`, which groups of xarray do not have */
function checkPeriods(options: unknown): void {
  if (((options as ResampleOptions).minPeriods ?? 0) > 0) refuse('groups with `minPeriods`', options)
}
