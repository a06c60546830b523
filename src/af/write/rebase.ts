import { type DataOf, type DType, elementBytes, isFixed } from '../../core/dtype.ts'
import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { sameShape } from '../../core/shape.ts'
import type { ChunkAddress } from '../../engine/block.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import { decodeChunk } from '../../engine/chunk-values.ts'
import { encodeChunk } from '../../engine/write-box.ts'
import { type ChunkGrid, chunkSize } from '../../grid/chunks.ts'
import { type Definition, dtypeOf, gridFor, sameButShape, sameDefinition } from '../format/definition.ts'
import type { AttributeValue } from '../format/footer.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { type AttributeMap, resolveAttributes } from '../layers/attributes.ts'
import { findIn, type LayerChunks } from '../layers/layer-chunks.ts'
import type { PendingChunk } from '../layers/pending-chunk.ts'
import { indexOf, type LiveArray } from '../layers/stack.ts'
import { readChunk, reshapeChunk, unwritten } from './cover.ts'
import { contains } from './resize.ts'

/** A chunk that was partly changed both here and by another writer, with both changes applied. */
export interface Rebased {
  readonly state: ArrayState
  readonly chunkIndex: number
  readonly bytes: Uint8Array
}

/**
 * @param deleted definition of an earlier array of this name that was deleted here
 * @throws ConflictError if an array with pending changes was replaced meanwhile, or was resized by both
 */
export function checkUnmoved(state: ArrayState, live: LiveArray | undefined, deleted: Definition | undefined): void {
  if (!state.changed || isUnmoved(state, live, deleted)) return
  const what = state.layer < 0 ? 'defined' : live && isSameArray(state, live) ? 'resized' : 'deleted or defined anew'
  throw new HyperslabError('ConflictError', `the array was ${what} by another writer; its pending changes cannot be added`, {
    array: state.definition.name,
  })
}

function isUnmoved(state: ArrayState, live: LiveArray | undefined, deleted: Definition | undefined): boolean {
  const { definition, committed, resized, written } = state
  if (committed === undefined) {
    if (live === undefined) return true
    if (deleted !== undefined) return sameDefinition(live.definition, deleted)
    // Both writers have defined the same array, and attributes can be merged. The attributes of the container
    // belong to such an array.
    return sameDefinition(live.definition, definition) && written.size === 0
  }
  if (live === undefined) return false
  if (sameDefinition(live.definition, committed)) return true
  // Attributes do not depend on the shape.
  if (!resized && written.size === 0) return sameButShape(live.definition, committed)
  return isSameArray(state, live) && (!resized || sameShape(live.definition.shape, definition.shape))
}

/** Whether the layers that the array was loaded from are among its current layers. */
function isSameArray({ definition, entries }: ArrayState, live: LiveArray): boolean {
  const { version } = entries[0]!.layer
  return sameButShape(definition, live.definition) && live.entries.some(({ layer }) => layer.version === version)
}

/**
 * Applies pending changes of parts of chunks to the versions that other writers have stored meanwhile:
 * elements that were changed here, and all others as stored. Omits chunks that no other writer has touched.
 * @param live current arrays in the layers: with their old shape or, if they were resized there, with the
 *   shape that they have here
 * @throws ConflictError if the earlier state of a changed chunk no longer exists
 */
export async function rebase(
  states: Iterable<ArrayState>,
  live: ReadonlyMap<string, LiveArray>,
  blocks: BlockReader,
): Promise<Rebased[]> {
  const rebased: Rebased[] = []
  for (const state of states) {
    const array = live.get(state.definition.name)
    // An uncommitted array is unrelated to a committed one of its name.
    if (state.committed === undefined || array === undefined) continue
    const { committed: definition, entries } = state
    // The index of the state itself may lack chunks that were cut off here and came back.
    const [before, now] = [new Contents(state, { definition, entries }), new Contents(state, array)]
    const numbers = new Set(state.written.keys())
    // Includes chunks of other writers that have another shape here.
    if (state.resized && !sameShape(array.definition.shape, state.grid.shape))
      for (const chunkIndex of now.cutChunks()) numbers.add(chunkIndex)
    for (const chunkIndex of numbers) {
      const chunk = state.written.get(chunkIndex)
      if (chunk?.partial === false || sameAddress(before.find(chunkIndex), now.find(chunkIndex))) continue
      const bytes = await now.read(chunkIndex, blocks)
      rebased.push({ state, chunkIndex, bytes: chunk ? await merge(state, chunkIndex, chunk, before, bytes, blocks) : bytes })
    }
  }
  return rebased
}

/** Contents of an array in some layers, in the shape that the array has here. */
class Contents {
  readonly #state: ArrayState
  readonly #grid: ChunkGrid
  readonly #stored: readonly LayerChunks[]

  constructor(state: ArrayState, { definition, entries }: LiveArray) {
    this.#state = state
    this.#grid = gridFor(definition)
    this.#stored = entries.map((entry) => indexOf(entry, state.grid))
  }

  /** Returns the location of a chunk; undefined outside the grid. */
  find(chunkIndex: number): ChunkAddress | undefined {
    return contains(this.#grid, this.#state.grid.index(chunkIndex)) ? findIn(this.#stored, chunkIndex) : undefined
  }

  async read(chunkIndex: number, blocks: BlockReader): Promise<Uint8Array> {
    const { definition, grid } = this.#state
    const index = grid.index(chunkIndex)
    const address = this.find(chunkIndex)
    if (address === undefined) return unwritten(definition, grid.shapeOf(index))
    return reshapeChunk(definition, await readChunk(address, blocks), this.#grid.shapeOf(index), grid.shapeOf(index))
  }

  *cutChunks(): Generator<number> {
    const { grid } = this.#state
    for (const chunkIndex of new Set(this.#stored.flatMap((index) => [...index.numbers()]))) {
      const index = grid.index(chunkIndex)
      if (contains(this.#grid, index) && !sameShape(this.#grid.shapeOf(index), grid.shapeOf(index))) yield chunkIndex
    }
  }
}

async function merge(
  state: ArrayState,
  chunkIndex: number,
  chunk: PendingChunk,
  before: Contents,
  theirs: Uint8Array,
  blocks: BlockReader,
): Promise<Uint8Array> {
  const dtype = dtypeOf(state.definition)
  const ours = chunk.bytes ?? (await readChunk(chunk.address!, blocks))
  const old = await before.read(chunkIndex, blocks).catch((error: unknown) => rethrowGone(state, chunkIndex, error))
  if (isFixed(dtype)) return mergeBytes(old, ours, theirs, elementBytes(dtype))
  return mergeValues(dtype, old, ours, theirs, chunkSize(state.grid, chunkIndex))
}

/** Replaces the error of the file, which advises to refresh it, because a refresh has just failed. */
function rethrowGone({ definition, grid }: ArrayState, chunkIndex: number, cause: unknown): never {
  if (!isHyperslabError(cause, 'ConflictError')) throw cause
  const chunk = `[${grid.index(chunkIndex).join(', ')}]`
  const text = `a part of chunk ${chunk} was changed here, and another writer has compacted away its earlier state: \
the changed elements cannot be identified; the changes are kept: read them here, open the file again, and write them there`
  throw new HyperslabError('ConflictError', text, { array: definition.name, actual: chunk, cause })
}

/** Returns the changes of an array's attributes since they were loaded, with undefined for deleted ones. */
export function attributeChanges({ entries, attributes }: ArrayState): Map<string, AttributeValue | undefined> {
  const before: AttributeMap = entries.length === 0 ? new Map() : resolveAttributes(entries).attributes
  const changes = new Map<string, AttributeValue | undefined>()
  for (const name of before.keys()) if (!attributes.has(name)) changes.set(name, undefined)
  for (const [name, value] of attributes) if (before.get(name) !== value) changes.set(name, value)
  return changes
}

/** Applies changes to the current attributes in the layers, including those of other writers. */
export function changeAttributes(state: ArrayState, changes: ReadonlyMap<string, AttributeValue | undefined>): void {
  const attributes = new Map(state.entries.length > 0 ? resolveAttributes(state.entries).attributes : state.attributes)
  for (const [name, value] of changes) {
    if (value === undefined) attributes.delete(name)
    else attributes.set(name, value)
  }
  state.attributesReplaced(attributes)
}

/** Compares blocks by the version of their file, because a refresh opens layers anew. */
function sameAddress(a: ChunkAddress | undefined, b: ChunkAddress | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.block.origin.version === b.block.origin.version && a.block.id === b.block.id && a.offset === b.offset
}

function mergeBytes(before: Uint8Array, ours: Uint8Array, theirs: Uint8Array, size: number): Uint8Array {
  const merged = theirs.slice()
  for (let at = 0; at < merged.length; at += size) {
    for (let i = at; i < at + size; i++) {
      if (ours[i] === before[i]) continue
      merged.set(ours.subarray(at, at + size), at)
      break
    }
  }
  return merged
}

function mergeValues(dtype: DType, before: Uint8Array, ours: Uint8Array, theirs: Uint8Array, count: number): Uint8Array {
  const [old, own, merged] = [before, ours, theirs].map((bytes) => decodeChunk(dtype, bytes, count) as (string | Uint8Array)[])
  own!.forEach((value, i) => {
    if (String(value) !== String(old![i])) merged![i] = value
  })
  return encodeChunk(dtype, merged as DataOf<DType>)
}
