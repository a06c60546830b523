import type { Missing } from '../../array/missing.ts'
import type { Origins, ScalarMode } from '../../array/source.ts'
import { textLengths } from '../../core/characters.ts'
import type { ScalarOf } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import { sizeOf, stridesOf } from '../../core/shape.ts'
import type { BlockOrigin, StridedChunk, StridedLayout } from '../../engine/block.ts'
import type { ChunkIndex, ChunkSnapshot } from '../../engine/chunk-index.ts'
import type { StridedReader } from '../../engine/strided-reader.ts'
import { ChunkGrid } from '../../grid/chunks.ts'
import { type NetcdfAttributes, payloadOfText } from './attributes.ts'
import type { ClassicHeader, ClassicVariable } from './header.ts'
import { type ClassicDType, TYPE_BYTES } from './types.ts'

/** Maximum size in bytes of a chunk that joins several records. */
const RECORD_CHUNK_BYTES = 1024 * 1024

/**
 * Location of the elements of a variable: `index` is at byte `begin + sum(index[axis] * strides[axis])` and
 * has `elementBytes` bytes.
 */
export interface VariableLayout {
  readonly begin: number
  readonly shape: readonly number[]
  /** Distance in bytes between neighbouring elements along each axis. */
  readonly strides: readonly number[]
  readonly elementBytes: number
  readonly dimensionNames: readonly string[]
  readonly chunks: ChunkGrid
}

export interface FileLayout {
  /** Length of the record dimension. */
  readonly records: number
  /** Layouts of the variables, in the order of the header. */
  readonly variables: readonly VariableLayout[]
}

/**
 * A variable with the sizes that follow from its dimensions. The vsize in the header is not used, because it
 * overflows for large variables.
 */
interface Sized {
  readonly variable: ClassicVariable
  readonly isRecord: boolean
  /** Shape of one record or, for a fixed variable, of the whole variable. */
  readonly slabShape: readonly number[]
  readonly slabBytes: number
}

/**
 * Finds the location of every variable.
 *
 *     header | fixed variables, each contiguous | record 0 | record 1 | …
 *     record: one slab of each record variable, padded to 4 bytes unless it is the only one
 *
 * The data may end beyond the end of the file, because some writers leave variables unwritten. Reading such
 * elements fails.
 * @throws FormatError if a variable with elements overlaps the header, or ends above byte 2^53
 */
export function layOut(header: ClassicHeader, fileBytes: number): FileLayout {
  const sized = header.variables.map((variable) => measure(variable, header))
  const growing = sized.filter(({ isRecord }) => isRecord)
  const recordStride =
    growing.length === 1 ? growing[0]!.slabBytes : growing.reduce((sum, { slabBytes }) => sum + padded(slabBytes), 0)
  const records = header.records ?? countRecords(growing, recordStride, fileBytes)
  for (const one of sized) checkPlace(one, recordStride, records, header.byteLength)
  const uses = header.variables.map(({ name, type, dimensionIds }) => ({
    name,
    dims: dimensionIds,
    isCharacter: type === 'char',
  }))
  const lengths = textLengths(uses, (id) => header.dimensions[id]!.name)
  const variables = sized.map((one) => place(one, recordStride, records, header, lengths))
  return { records, variables }
}

/** Returns a size in bytes with its padding: the next multiple of 4. */
export const padded = (bytes: number): number => Math.ceil(bytes / 4) * 4

function measure(variable: ClassicVariable, { dimensions, recordId }: ClassicHeader): Sized {
  const isRecord = recordId !== undefined && variable.dimensionIds[0] === recordId
  const slabIds = isRecord ? variable.dimensionIds.slice(1) : variable.dimensionIds
  const slabShape = slabIds.map((id) => dimensions[id]!.length)
  return { variable, isRecord, slabShape, slabBytes: sizeOf(slabShape) * TYPE_BYTES[variable.type] }
}

/** Returns the number of records that the file has room for. The last one may have no padding. */
function countRecords(growing: readonly Sized[], recordStride: number, fileBytes: number): number {
  // If sizes overflow, one record is assumed, so that `checkPlace` throws the error.
  if (growing.length === 0) return 0
  if (!Number.isSafeInteger(recordStride)) return 1
  const room = growing.map(({ variable, slabBytes }) => Math.floor((fileBytes - variable.begin - slabBytes) / recordStride) + 1)
  return Math.max(0, Math.min(...room))
}

/** @throws FormatError if a variable with elements overlaps the header, or ends above byte 2^53 */
function checkPlace(sized: Sized, recordStride: number, records: number, headerBytes: number): void {
  const { variable, isRecord, slabShape, slabBytes } = sized
  if (isRecord && records === 0) return
  const { begin, name } = variable
  const end = begin + slabBytes + (isRecord ? (records - 1) * recordStride : 0)
  if (begin < headerBytes) {
    throw new HyperslabError('FormatError', `its data starts at byte ${begin}, inside the header of ${headerBytes} bytes`, {
      array: name,
      actual: begin,
      expected: headerBytes,
    })
  }
  if (!Number.isSafeInteger(end)) {
    const shape = isRecord ? [records, ...slabShape] : slabShape
    const text = `the header is broken: elements of the shape [${shape.join(', ')}] from byte ${begin} end above 2^53`
    throw new HyperslabError('FormatError', text, { array: name, actual: end })
  }
}

function place(
  { variable, isRecord, slabShape }: Sized,
  recordStride: number,
  records: number,
  header: ClassicHeader,
  lengths: ReadonlySet<number>,
): VariableLayout {
  const names = variable.dimensionIds.map((id) => header.dimensions[id]!.name)
  // Characters are joined along a dimension that is the length of texts. Records are never joined, even if
  // each record is one character.
  const joins = variable.type === 'char' && slabShape.length > 0 && lengths.has(variable.dimensionIds.at(-1)!)
  const shape = joins ? slabShape.slice(0, -1) : slabShape
  const elementBytes = joins ? slabShape.at(-1)! : TYPE_BYTES[variable.type]
  const strides = stridesOf(shape).map((stride) => stride * elementBytes)
  const inner = ChunkGrid.estimate(shape, elementBytes)
  const common = { begin: variable.begin, elementBytes, dimensionNames: joins ? names.slice(0, -1) : names }
  if (!isRecord) return { ...common, shape, strides, chunks: inner }
  const fullShape = [records, ...shape]
  const recordsPerChunk = Math.floor(RECORD_CHUNK_BYTES / (sizeOf(shape) * elementBytes))
  const leading = Math.max(1, Math.min(records, recordsPerChunk))
  return {
    ...common,
    shape: fullShape,
    strides: [recordStride, ...strides],
    chunks: ChunkGrid.regular(fullShape, [leading, ...inner.chunkShape]),
  }
}

/** An open file. */
export interface OpenNetcdf {
  readonly origin: BlockOrigin
  readonly reader: StridedReader
  readonly budget: MemoryBudget | undefined
  readonly scalar: ScalarMode | undefined
  readonly origins: Origins | undefined
  /** @throws ClosedError */
  checkOpen(): void
}

/** Description of a variable's elements. */
export interface VariableElements<D extends ClassicDType | 'string'> {
  readonly dtype: D
  readonly fillValue?: ScalarOf<D> | undefined
  readonly missing?: Missing<D> | undefined
  readonly attrs: NetcdfAttributes
  readonly label: { readonly file: string; readonly array: string }
}

/** Chunk index of a variable. All chunks are stored in the file itself, uncompressed. */
export class VariableIndex<D extends ClassicDType | 'string'> implements ChunkIndex<D>, ChunkSnapshot {
  readonly dtype: D
  readonly dimensionNames: readonly string[]
  readonly fillValue: ScalarOf<D> | undefined
  readonly missing: Missing<D> | undefined
  readonly attrs: NetcdfAttributes
  readonly label: { readonly file: string; readonly array: string }
  readonly origins: Origins | undefined
  readonly strided: StridedReader
  readonly budget: MemoryBudget | undefined
  readonly scalar: ScalarMode | undefined
  readonly grid: ChunkGrid
  readonly #file: OpenNetcdf
  readonly #begin: number
  readonly #layout: StridedLayout

  constructor(file: OpenNetcdf, layout: VariableLayout, { dtype, fillValue, missing, attrs, label }: VariableElements<D>) {
    this.dtype = dtype
    this.dimensionNames = layout.dimensionNames
    this.fillValue = fillValue
    this.missing = missing
    this.attrs = attrs
    this.label = label
    this.origins = file.origins
    this.strided = file.reader
    this.budget = file.budget
    this.scalar = file.scalar
    this.grid = layout.chunks
    this.#file = file
    this.#begin = layout.begin
    this.#layout = {
      origin: file.origin,
      byteStrides: layout.strides,
      elementBytes: layout.elementBytes,
      bigEndian: dtype !== 'string',
      payloadOf: dtype === 'string' ? (stored, count) => payloadOfText(stored, count, attrs.get('_Encoding')) : undefined,
    }
  }

  get storedCount(): number {
    return this.grid.count
  }

  snapshot(): ChunkSnapshot {
    this.#file.checkOpen()
    return this
  }

  /** Returns this index itself, because the file does not change. */
  pinned(): ChunkSnapshot {
    return this
  }

  checkGrid(): void {}

  locate(chunkIndex: number): StridedChunk {
    const layout = this.#layout
    const { axes } = this.grid
    const index = this.grid.index(chunkIndex)
    const offset = index.reduce((sum, k, axis) => sum + axes[axis]!.start(k) * layout.byteStrides[axis]!, this.#begin)
    return { layout, shape: this.grid.shapeOf(index), offset }
  }

  *stored(): Generator<number> {
    for (let chunkIndex = 0; chunkIndex < this.grid.count; chunkIndex++) yield chunkIndex
  }
}
