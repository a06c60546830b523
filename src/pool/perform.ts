import type { Part } from '../array/parts.js'
import { reduceBoxes } from '../array/parts.js'
import { lz4 } from '../codec/lz4.js'
import { type Arena, withArena } from '../kernels/arena.js'
import { gather } from '../kernels/boxes.js'
import type { Task } from './task.js'

/** A task on its way to a worker. The buffer holds the compressed bytes; with the answer it comes back. */
export interface Request {
  readonly id: number
  readonly buffer: ArrayBuffer
  readonly compressedBytes: number
  readonly decodedBytes: number
  readonly task: Task
}

/** Errors as data: their class does not survive being sent. */
export interface Failure {
  readonly tag: string | undefined
  readonly text: string
  readonly details: object
}

export interface Reply {
  readonly id: number
  /** The request's, or a larger one, with the bytes of the answer at its start. */
  readonly buffer: ArrayBuffer
  readonly length: number
  readonly parts: readonly Part[]
  readonly failure?: Failure
}

/** Does what is asked, in the memory of this thread. */
export function perform({ id, buffer, compressedBytes, decodedBytes, task }: Request): Reply {
  try {
    return withArena((arena) => {
      const pointer = lz4.decodeIn(arena, new Uint8Array(buffer, 0, compressedBytes), decodedBytes)
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
    return { id, buffer, length: 0, parts: [], failure: failureOf(error) }
  }
}

function copyOut(arena: Arena, { pointer, bytes }: { pointer: number; bytes: number }, into: ArrayBuffer): ArrayBuffer {
  const buffer = into.byteLength >= bytes ? into : new ArrayBuffer(bytes)
  new Uint8Array(buffer).set(arena.bytes(pointer, bytes))
  return buffer
}

function failureOf(error: unknown): Failure {
  const { tag, message, details = {} } = error as { tag?: string; message?: string; details?: object }
  return { tag, text: message ?? String(error), details }
}
