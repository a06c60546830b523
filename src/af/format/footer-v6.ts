import { type DType, elementBytes, type FixedDType, isFixed } from '../../core/dtype.ts'
import { HyperslabError, rethrowWithin } from '../../core/errors.ts'
import { showShape, sizeOf } from '../../core/shape.ts'
import { chunkSize } from '../../grid/chunks.ts'
import { type Archived, option, struct, unarchive, union } from '../rkyv/layout.ts'
import { uint32 } from '../rkyv/leaves.ts'
import { numbers, vec, vecCount, vecTarget } from '../rkyv/pointers.ts'
import type { Reader } from '../rkyv/reader.ts'
import { string } from '../rkyv/string.ts'
import { type ArrayStats, statsLayout } from './array-stats.ts'
import { gridFor, isNested } from './definition.ts'
import {
  type ArrayMeta,
  type AttributeValue,
  type BlockMeta,
  beforeChunks,
  blockLayout,
  checkFooter,
  type Footer,
  type FooterReport,
  raise,
} from './footer.ts'
import { FooterArrays } from './footer-arrays.ts'
import { type PairColumns, pairs, VARIANTS } from './footer-attributes.ts'
import { readChunks } from './footer-chunks.ts'
import { type FillValue, fillValueLayout, type StatValue } from './footer-values.ts'

/*
 * Footers of version 6, whose files are written once. Strings of attributes are in a pool, which the keys
 * share. Statistics are stored beside the arrays.
 */

export type PooledValue = { type: 'string'; value: number } | { type: 'string[]'; value: Uint32Array } | AttributeValue

/** 24 bytes. Strings are indices into the pool: a single one at +4, a list at +8. */
const pooledValueLayout = union('attribute value', 'type', {
  ...VARIANTS,
  string: struct({ value: uint32 }),
  'string[]': struct({ value: numbers('uint32') }),
}) as Archived<PooledValue>

const afterChunks = struct<{ fillValue: FillValue | null; attributes: PairColumns; stats: ArrayStats | null }>({
  fillValue: option(fillValueLayout),
  attributes: pairs(uint32),
  stats: option(statsLayout),
})

/**
 *     +0 name | +16 dtype | +40 shape | +56 dimension names | +72 chunk shape | +88 chunks | +104 fill value | +136 attributes | +152 statistics
 */
const arrayLayout: Archived<ArrayMeta> = {
  size: 256,
  align: 8,
  read(from, at) {
    const name = string.read(from, at)
    try {
      const schema = beforeChunks.read(from, at + 16)
      const chunks = readChunks(from, at + 88, schema.shape.length)
      const { fillValue, attributes, stats } = afterChunks.read(from, at + 104)
      return { name, ...schema, chunks, fillValue, deleted: false, attributes: { width: 32, ...attributes }, stats }
    } catch (error) {
      return rethrowWithin(error, { array: name })
    }
  },
  form: ['array', beforeChunks, afterChunks],
}

const POOLS = { version: uint32, blocks: vec(blockLayout), strings: vec(string), values: vec(pooledValueLayout) }
const poolsLayout = struct(POOLS)

/** 72 bytes: +0 version | +8 blocks | +24 strings | +40 values | +56 arrays */
export const rootLayout6 = struct({ ...POOLS, arrays: vec(arrayLayout) })

/**
 * Reads a root whose arrays are read one by one.
 * @param quick checks arrays in one pass over the bytes. Otherwise each is read and checked
 */
const storedRoot = (quick: boolean) => ({
  ...rootLayout6,
  read(from: Reader, at: number) {
    const pools = poolsLayout.read(from, at)
    const { blocks, strings, values } = pools
    const field = at + poolsLayout.size
    const [target, count] = [vecTarget(from, field), vecCount(from, field)]
    const seen = new SeenKeys(strings)
    const stored = from.subtree(
      field,
      target,
      count * arrayLayout.size,
      arrayLayout.align,
      () => new FooterArrays(from, target, count, arrayLayout, { blocks, strings, values: values.length, seen, quick }),
    )
    return { ...pools, stored, seen }
  },
})

/**
 * Reads a footer of version 6 from a payload. Checks that no number in it contradicts another one or the
 * file.
 * @param dataBytes number of bytes in front of the payload
 * @param report called for each contradiction. Default: throws it
 * @throws FormatError if the bytes are not a footer; names the array or block and the numbers
 */
export function readFooter6(payload: Uint8Array, dataBytes: number, typeDepth?: number, report: FooterReport = raise): Footer {
  const { blocks, strings, values, stored, seen } = unarchive('footer', storedRoot(report === raise), payload, typeDepth)
  const attributeValues = values.map((value, index) => withStrings(value, strings, index))
  const rest = { version: 6, blocks, attributeKeys: strings, attributeValues, overlayIndex: 0, baseFileHint: '' } as const
  const doubtful: Footer = { ...rest, arrays: [...stored.doubtful] }
  checkBlocks(blocks, report)
  checkFooter(doubtful, dataBytes, report)
  checkNames(stored.names, report)
  checkArrays(doubtful, seen, report)
  return {
    ...rest,
    stored,
    get arrays() {
      return stored.all()
    },
  }
}

/** @throws FormatError for an index outside the pool, also in a value that no array uses */
function withStrings(value: PooledValue, strings: readonly string[], index: number): AttributeValue {
  const textOf = (at: number): string => {
    const text = strings[at]
    if (text !== undefined) return text
    const message = `attribute value ${index} names string ${at} of ${strings.length}`
    throw new HyperslabError('FormatError', message, { actual: at, expected: strings.length })
  }
  if (value.type === 'string') return { type: 'string', value: textOf(value.value as number) }
  if (value.type === 'string[]') return { type: 'string[]', value: Array.from(value.value as Uint32Array, textOf) }
  return value as AttributeValue
}

/** Checks that the id of each block is its position, and that blocks neither overlap nor are empty. */
function checkBlocks(blocks: readonly BlockMeta[], report: FooterReport): void {
  const wrong = (text: string, actual: unknown, expected: unknown): void =>
    report(new HyperslabError('FormatError', text, { actual, expected }))
  for (const [index, { id, compressedBytes, uncompressedBytes, codec }] of blocks.entries()) {
    if (id !== index) wrong(`block ${index} has the id ${id}, but the ids of blocks are their positions`, id, index)
    if (compressedBytes === 0) wrong(`block ${index} is empty: it has 0 bytes`, 0, 'at least 1')
    if (codec === null && compressedBytes !== uncompressedBytes) {
      const text = `block ${index} is stored as it is, with ${compressedBytes} bytes, but claims ${uncompressedBytes}`
      wrong(text, compressedBytes, uncompressedBytes)
    }
  }
  const placed = blocks.map(({ fileOffset, compressedBytes }, index) => ({ index, fileOffset, compressedBytes }))
  placed.sort((a, b) => a.fileOffset - b.fileOffset)
  for (let i = 1; i < placed.length; i++) {
    const [before, block] = [placed[i - 1]!, placed[i]!]
    // Compared without a sum, because the sum could exceed 2^53.
    if (before.compressedBytes <= block.fileOffset - before.fileOffset) continue
    const text = `blocks ${before.index} and ${block.index} overlap: ${before.compressedBytes} bytes at ${before.fileOffset}, and ${block.compressedBytes} at ${block.fileOffset}`
    wrong(text, block.fileOffset, before.fileOffset + before.compressedBytes)
  }
}

type Wrong = (text: string, actual: unknown, expected?: unknown) => void

function checkNames(names: readonly string[], report: FooterReport): void {
  const known = new Set(names)
  if (known.size === names.length) return
  for (const name of names)
    if (!known.delete(name)) report(new HyperslabError('FormatError', 'two arrays have this name', { array: name, actual: name }))
}

function checkArrays({ arrays, attributeKeys, attributeValues }: Footer, seen: SeenKeys, report: FooterReport): void {
  for (const array of arrays) {
    const { name } = array
    const wrong: Wrong = (text, actual, expected) =>
      report(new HyperslabError('FormatError', text, { array: name, actual, expected }))
    if (checkShapes(array, wrong)) {
      checkChunks(array, wrong)
      checkStats(array, wrong)
    }
    checkAttributes(array, attributeKeys, attributeValues.length, seen, wrong)
  }
}

/** @returns whether the chunks form a grid */
function checkShapes({ shape, chunkShape, dimensionNames }: ArrayMeta, wrong: Wrong): boolean {
  const rank = shape.length
  // Other programs always write a dimension name for each axis in this version.
  if (dimensionNames.length === 0 && rank > 0) wrong(`${rank} axes, but 0 dimension names`, 0, rank)
  const axis = chunkShape.findIndex((length, axis) => length === 0 && shape[axis] === 0)
  if (axis >= 0) wrong(`axis ${axis} has chunks of length 0, expected 1 or more`, 0)
  const isCountable = [shape, chunkShape].every((lengths) => Number.isSafeInteger(sizeOf(lengths)))
  return chunkShape.length === rank && chunkShape.every((length) => length > 0) && isCountable
}

/**
 * Checks that each chunk lies in the grid, occurs once, in ascending order, and has the size of its elements.
 */
function checkChunks(array: ArrayMeta, wrong: Wrong): void {
  const { dtype, chunks } = array
  const { length, rank, coords, sizes } = chunks
  if (length === 0) return
  const grid = gridFor(array)
  const width = isNested(array) || !isFixed(dtype.kind as DType) ? 0 : elementBytes(dtype.kind as FixedDType)
  const show = (row: number): string => `chunk [${coords.subarray(row * rank, (row + 1) * rank)}]`
  let last = -1
  for (let row = 0; row < length; row++) {
    let chunkIndex = 0
    for (let axis = 0; axis < rank && chunkIndex >= 0; axis++) {
      const [k, count] = [coords[row * rank + axis]!, grid.counts[axis]!]
      chunkIndex = k < count ? chunkIndex * count + k : -1
    }
    if (chunkIndex < 0) {
      wrong(`${show(row)} lies outside the grid of ${showShape(grid.counts)} chunks`, row, grid.counts)
      continue
    }
    if (chunkIndex === last) wrong(`${show(row)} is listed twice`, row)
    else if (chunkIndex < last) wrong(`its chunks are not sorted: ${show(row)} comes after ${show(row - 1)}`, row)
    last = chunkIndex
    const elements = chunkSize(grid, chunkIndex)
    const size = sizes[row]!
    if (width > 0 && size !== elements * width)
      wrong(`${show(row)} has ${size} bytes, but its ${elements} elements take ${elements * width}`, size, elements * width)
    if (isText(dtype.kind) && size < 4 * (elements + 1))
      wrong(`${show(row)} has ${size} bytes, fewer than the offsets of its ${elements} elements take`, size, 4 * (elements + 1))
  }
}

const isText = (kind: string): boolean => kind === 'string' || kind === 'binary'

/** Returns the kind of the bounds for a type. Names of integer and float types begin with their kind. */
function boundsKind(kind: string): StatValue['kind'] | undefined {
  if (isText(kind)) return 'bytes'
  if (kind === 'bool' || kind.startsWith('uint')) return 'uint'
  if (kind.startsWith('int')) return 'int'
  if (kind.startsWith('float')) return 'float'
  return kind === 'timestamp_ns' ? kind : undefined
}

/**
 * Checks the statistics against the array, because wrong statistics would yield wrong results without a read.
 */
function checkStats({ name, dtype, shape, stats }: ArrayMeta, wrong: Wrong): void {
  if (stats == null) return
  const elements = BigInt(sizeOf(shape))
  const { rowCount, nullCount, min, max } = stats
  if (stats.name !== name) wrong(`its statistics are those of array '${stats.name}'`, stats.name, name)
  if (rowCount !== elements) wrong(`its statistics count ${rowCount} elements, its shape has ${elements}`, rowCount, elements)
  if (nullCount > rowCount) wrong(`its statistics count ${nullCount} null elements of ${rowCount}`, nullCount, rowCount)
  const expected = boundsKind(dtype.kind)
  for (const bound of [min, max]) {
    if (bound === null || bound.kind === expected) continue
    wrong(`its statistics have a bound of kind '${bound.kind}', its type is ${dtype.kind}`, bound.kind, expected)
  }
}

/**
 * Attribute keys seen in the current array, compared as texts. A set for each array would take longer than
 * reading its pairs.
 */
class SeenKeys {
  readonly #strings: readonly string[]
  /**
   * For each string that is used as a key: one more than the index of the first string with the same text. 0
   * for other strings.
   */
  readonly #first: Uint32Array
  readonly #byText = new Map<string, number>()
  /** For each string, the last array that used it as a key. */
  readonly #array: Uint32Array
  #current = 0

  constructor(strings: readonly string[]) {
    this.#strings = strings
    this.#first = new Uint32Array(strings.length)
    this.#array = new Uint32Array(strings.length)
  }

  /** Starts the next array. */
  next(): void {
    this.#current++
  }

  /** Adds a key of the current array. Returns false if the array has it already. */
  add(key: number): boolean {
    const first = this.#first[key] || this.#find(key)
    if (this.#array[first - 1] === this.#current) return false
    this.#array[first - 1] = this.#current
    return true
  }

  #find(key: number): number {
    const text = this.#strings[key]!
    const first = this.#byText.get(text) ?? key + 1
    this.#byText.set(text, first)
    this.#first[key] = first
    return first
  }
}

/** Checks that every index lies in its pool, and that no two keys have the same text. */
function checkAttributes(
  { attributes: { keys, values } }: ArrayMeta,
  strings: readonly string[],
  most: number,
  seen: SeenKeys,
  wrong: Wrong,
): void {
  seen.next()
  for (let i = 0; i < keys.length; i++) {
    const [key, value] = [keys[i]!, values[i]!]
    const name = strings[key]
    if (name === undefined) wrong(`an attribute's key is string ${key} of ${strings.length}`, key, strings.length)
    if (value >= most) wrong(`attribute '${name}' has value ${value} of ${most}`, value, most)
    if (name !== undefined && !seen.add(key)) wrong(`attribute '${name}' has two values`, name)
  }
}
