import { allocate, type DataOf, type DType, elementBytes, isFixed, toElement, zeroOf } from '../core/dtype.js'
import { HyperslabError } from '../core/errors.js'
import { sizeOf } from '../core/shape.js'
import type { ArrayState } from './array-state.js'
import { type ChunkAddress, viewOf } from './block.js'
import type { BlockReader } from './block-reader.js'
import { findIn } from './chunk-index.js'
import { type Definition, dtypeOf, fillOf, sameDefinition } from './definition.js'
import type { PendingChunk } from './packer.js'
import { indexOf, type LiveArray } from './stack.js'
import { decodeChunk, encodeChunk } from './values.js'

/** A chunk that was changed in part here and, since then, by another writer, with both changes in it. */
export interface Rebased {
  readonly state: ArrayState
  readonly number: number
  readonly bytes: Uint8Array
}

/**
 * @param deleted what had the name here before the array was defined
 * @throws ConflictError when an array with pending changes is not what it was
 */
export function checkUnmoved(state: ArrayState, live: LiveArray | undefined, deleted: Definition | undefined): void {
  const isNew = state.layer < 0
  const before = isNew ? deleted : state.definition
  if (!state.changed || (before && live ? sameDefinition(live.definition, before) : isNew && live === undefined)) return
  const what = isNew ? 'defined' : 'deleted or defined anew'
  throw new HyperslabError('ConflictError', `the array was ${what} by another writer; its pending changes cannot be added`, {
    array: state.definition.name,
  })
}

/**
 * Pending changes of parts of chunks, brought onto what other writers have made of those chunks meanwhile: elements that were changed
 * here, the others as they are there now. Chunks nobody else has touched are left out.
 * @param live what the layers hold now
 * @throws ConflictError when what a change was built on is gone
 */
export async function rebase(
  states: Iterable<ArrayState>,
  live: ReadonlyMap<string, LiveArray>,
  blocks: BlockReader,
): Promise<Rebased[]> {
  const rebased: Rebased[] = []
  for (const state of states) {
    // What layers have under the name of an array that is new is another one.
    if (state.layer < 0) continue
    const indexes = live.get(state.definition.name)?.entries.map(indexOf) ?? []
    for (const [number, chunk] of state.written) {
      if (!chunk.partial) continue
      const [before, now] = [state.find(number), findIn(indexes, number)]
      if (!sameAddress(before, now))
        rebased.push({ state, number, bytes: await merge(state, number, chunk, before, now, blocks) })
    }
  }
  return rebased
}

async function merge(
  state: ArrayState,
  number: number,
  chunk: PendingChunk,
  before: ChunkAddress | undefined,
  now: ChunkAddress | undefined,
  blocks: BlockReader,
): Promise<Uint8Array> {
  const dtype = dtypeOf(state.definition)
  const count = sizeOf(state.grid.shapeOf(state.grid.index(number)))
  const read = async (address: ChunkAddress | undefined): Promise<Uint8Array> =>
    address === undefined ? unwritten(state, dtype, count) : readChunk(address, blocks)
  const ours = chunk.bytes ?? (await readChunk(chunk.address!, blocks))
  const [old, theirs] = [await read(before), await read(now)]
  return isFixed(dtype) ? mergeBytes(old, ours, theirs, elementBytes(dtype)) : mergeValues(dtype, old, ours, theirs, count)
}

/** The payload of a stored chunk, as a copy. */
export async function readChunk(address: ChunkAddress, blocks: BlockReader): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined
  await blocks.visit([[address.block, [{ address }]]], (arena, _, chunk) => {
    bytes = viewOf(arena, chunk).slice()
  })
  return bytes!
}

/** Layers are opened anew at a refresh, so blocks are told by what they are in. */
function sameAddress(a: ChunkAddress | undefined, b: ChunkAddress | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.block.origin.version === b.block.origin.version && a.block.id === b.block.id && a.offset === b.offset
}

/** The payload of a chunk nobody wrote. */
export function unwritten(state: ArrayState, dtype: DType, count: number): Uint8Array {
  const fill = toElement(dtype, fillOf(state.definition) ?? zeroOf(dtype))
  return encodeChunk(dtype, (allocate(dtype, count) as { fill(value: unknown): DataOf<DType> }).fill(fill))
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
