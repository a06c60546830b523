import { reduceBoxes } from '../aggregate/reduce-boxes.ts'
import type { PartialAggregate } from '../aggregate/reduction.ts'
import type { KernelCodec, RemoteCodec } from '../codec/codec.ts'
import { lz4 } from '../codec/lz4.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { gather } from '../kernels/boxes.ts'
import { crc32c } from '../kernels/crc32c.ts'
import { putStored, type StoredElements } from '../kernels/in-place.ts'
import { readLocal } from '../store/fs/local-file.ts'
import type { FilePart, Task } from './task.ts'

/**
 * A task sent to a worker. The buffer, which may contain the compressed bytes, is returned with the answer.
 */
export interface TaskRequest {
  readonly id: number
  readonly buffer: ArrayBuffer
  /** Number of compressed bytes at the start of the buffer, or the file range that contains them. */
  readonly input: number | FilePart
  readonly decodedBytes: number
  /** Codec of the bytes; by default the built-in LZ4. */
  readonly codec?: RemoteCodec | undefined
  readonly stored?: StoredElements | undefined
  readonly task: Task
}

/** Errors as plain data, because messages do not preserve their class. */
export interface TaskFailure {
  readonly tag: string | undefined
  readonly text: string
  readonly details: object
}

export interface Reply {
  readonly id: number
  /** Buffer of the request, or a larger one, with the bytes of the answer at its start. */
  readonly buffer: ArrayBuffer
  readonly length: number
  readonly parts: readonly (readonly PartialAggregate[])[]
  /** Whether the file had other bytes than expected, so that nothing was done. */
  readonly unread?: boolean
  readonly failure?: TaskFailure
}

/** Performs a task in the memory of this thread, with bytes that `codec` decodes. */
export function perform(request: TaskRequest, codec: KernelCodec = lz4): Reply {
  const { id, buffer, input, decodedBytes, stored, task } = request
  try {
    return withArena((arena) => {
      const pointer = stored ? putStored(arena, stored, filling(buffer, input)) : decodeIn(arena, request, codec)
      if (pointer === undefined) return { id, buffer, length: 0, parts: [], unread: true }
      if (task.kind === 'reduce') {
        const { reduction, pieces } = task
        const parts = pieces.map(({ table, shape }) => arena.scratch(() => reduceBoxes(arena, reduction, table, pointer, shape)))
        return { id, buffer, length: 0, parts }
      }
      const found =
        task.kind === 'decode' ? { pointer, bytes: decodedBytes } : gather(arena, task.elementBytes, task.table, pointer)
      return { id, buffer: copyOut(arena, found, buffer), length: found.bytes, parts: [] }
    })
  } catch (error) {
    return { id, buffer, length: 0, parts: [], failure: toTaskFailure(error) }
  }
}

function decodeIn(arena: Arena, { buffer, input, decodedBytes }: TaskRequest, codec: KernelCodec): number | undefined {
  const packed = typeof input === 'number' ? arena.put(new Uint8Array(buffer, 0, input)) : readIn(arena, input)
  return packed && codec.decodeIn(arena, packed, typeof input === 'number' ? input : input.length, decodedBytes)
}

/** Returns a function that writes the bytes of reads, one after another. */
function filling(buffer: ArrayBuffer, input: TaskRequest['input']): Parameters<typeof putStored>[2] {
  let at = 0
  return ({ offset, length }, into) => {
    if (typeof input !== 'number') return readLocal({ ...input, offset, length }, into)
    into.set(new Uint8Array(buffer, at, length))
    at += length
    return true
  }
}

/** Reads bytes into kernel memory; undefined if the file does not contain the expected bytes. */
function readIn(arena: Arena, part: FilePart): number | undefined {
  const pointer = arena.alloc(part.length)
  if (!readLocal(part, arena.bytes(pointer, part.length))) return undefined
  if (part.size !== undefined && arena.view('uint32', pointer, 1)[0] !== part.size) return undefined
  return part.crc === undefined || part.crc === crc32c(arena, pointer, part.length) ? pointer : undefined
}

/** Returns the compressed bytes of a task; undefined if the file does not contain the expected bytes. */
export const readInput = ({ buffer, input }: TaskRequest): Uint8Array | undefined =>
  typeof input === 'number'
    ? new Uint8Array(buffer, 0, input)
    : withArena((arena) => {
        const pointer = readIn(arena, input)
        return pointer === undefined ? undefined : arena.bytes(pointer, input.length).slice()
      })

function copyOut(arena: Arena, { pointer, bytes }: { pointer: number; bytes: number }, into: ArrayBuffer): ArrayBuffer {
  const buffer = into.byteLength >= bytes ? into : new ArrayBuffer(bytes)
  new Uint8Array(buffer).set(arena.bytes(pointer, bytes))
  return buffer
}

export function toTaskFailure(error: unknown): TaskFailure {
  const { tag, message, details = {} } = error as { tag?: string; message?: string; details?: object }
  return { tag, text: message ?? String(error), details }
}
