import type { Data, DataType } from 'apache-arrow'
import { allocate, type DType, type FixedDType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Coords } from '../coords.ts'
import { isOfDates } from '../time/calendar.ts'
import { NAT, showInstant } from '../time/instant.ts'
import type { Variable } from '../variable.ts'
import { TABLE_CHECKS, type TableOptions } from './csv.ts'
import { type LongColumn, longForm } from './long-form.ts'

/** A record batch of the package `apache-arrow`. `new Table(batches)` accepts them. */
export interface ArrowRecordBatch {
  /** Number of rows. */
  readonly numRows: number
  /** Number of columns. */
  readonly numCols: number
  /** Schema with the names of the columns. */
  readonly schema: { readonly fields: readonly { readonly name: string }[] }
}

const ARROW_PACKAGE = 'apache-arrow'
type Arrow = typeof import('apache-arrow')

async function loadArrow(): Promise<Arrow> {
  try {
    return (await import(/* webpackIgnore: true */ /* @vite-ignore */ ARROW_PACKAGE)) as Arrow
  } catch (cause) {
    throw new HyperslabError('MissingDependencyError', `tables of Arrow are made by its package: npm install ${ARROW_PACKAGE}`, {
      cause,
    })
  }
}

/** Implements {@link Dataset.toTable}. */
export async function* writeArrow(
  variables: readonly Variable[],
  coords: Coords,
  options: TableOptions,
): AsyncGenerator<ArrowRecordBatch, void, undefined> {
  checkOptions('toTable', options, TABLE_CHECKS)
  const { columns, rows } = longForm(variables, coords)
  const arrow = await loadArrow()
  const types = columns.map((column) => arrowType(arrow, column))
  const fields = columns.map(({ name }, i) => new arrow.Field(name, types[i]!, true))
  const schema = new arrow.Schema(fields)
  const struct = new arrow.Struct(fields)
  for await (const { count, columns: values } of rows(options.signal)) {
    const children = columns.map((column, i) => createArrowData(arrow, column, types[i]!, values[i]!))
    yield new arrow.RecordBatch(schema, arrow.makeData({ type: struct, length: count, nullCount: 0, children }))
  }
}

/** Whether a column is stored as text. Arrow has no other calendars, so their times are text. */
const isText = ({ dtype, calendar }: LongColumn): boolean =>
  dtype === 'string' || (calendar !== undefined && !isOfDates(calendar))

const TYPES: Readonly<Record<Exclude<DType, 'string' | 'binary'>, string>> = {
  bool: 'Bool',
  int8: 'Int8',
  int16: 'Int16',
  int32: 'Int32',
  int64: 'Int64',
  uint8: 'Uint8',
  uint16: 'Uint16',
  uint32: 'Uint32',
  uint64: 'Uint64',
  float32: 'Float32',
  float64: 'Float64',
  timestamp_ns: 'TimestampNanosecond',
}

function arrowType(arrow: Arrow, column: LongColumn): DataType {
  if (isText(column)) return new arrow.Utf8()
  if (column.dtype === 'timestamp_ns') return new arrow.TimestampNanosecond('UTC')
  return new arrow[TYPES[column.dtype as FixedDType] as 'Int8']()
}

function createArrowData(arrow: Arrow, column: LongColumn, type: DataType, values: readonly unknown[]): Data {
  const { name, dtype, calendar } = column
  const isNone = (value: unknown): boolean => value === undefined || (calendar !== undefined && value === NAT)
  if (isText(column)) {
    const texts = values.map((value) => {
      if (isNone(value)) return null
      return calendar === undefined ? String(value) : showInstant(value as bigint, calendar)
    })
    return arrow.vectorFromArray(texts, type).data[0]!
  }
  const nullBitmap = new Uint8Array(Math.ceil(values.length / 8))
  let nullCount = 0
  for (const [i, value] of values.entries()) {
    if (isNone(value)) nullCount++
    else nullBitmap[i >> 3]! |= 1 << (i & 7)
  }
  const given = { type: type as never, length: values.length, nullCount, nullBitmap }
  if (dtype === 'bool') {
    const data = new Uint8Array(nullBitmap.length)
    for (const [i, value] of values.entries()) if (value === true) data[i >> 3]! |= 1 << (i & 7)
    return arrow.makeData({ ...given, data })
  }
  const data = allocate(dtype as FixedDType, values.length) as { [at: number]: unknown }
  for (const [i, value] of values.entries()) {
    if (isNone(value)) continue
    if (calendar !== undefined && BigInt.asIntN(64, value as bigint) !== value)
      throw new HyperslabError(
        'OverflowError',
        `${showInstant(value as bigint, calendar)} is beyond what nanoseconds of 64 bits hold`,
        {
          array: name,
          actual: value,
        },
      )
    data[i] = value
  }
  return arrow.makeData({ ...given, data: data as never })
}
