import type { Codec, KernelCodec } from '../codec/codec.ts'
import { decodeWith, inKernel } from '../codec/codec.ts'
import { perform, type Reply, readInput, type TaskRequest, toTaskFailure } from './perform.ts'

/** A codec recreated from the data of another thread. */
type MadeCodec = Codec | KernelCodec

/** Codecs of a worker by their ids in the thread that sends tasks; the most recently used ones. */
const known = new Map<number, Promise<MadeCodec>>()
const MOST_KNOWN = 1000

/**
 * Performs a task on a block of a codec other than the built-in LZ4.
 * @param make creates the codec, and loads what it needs
 */
export async function performWith(make: (spec: object) => Promise<MadeCodec>, request: TaskRequest): Promise<Reply> {
  const { id, buffer, decodedBytes } = request
  try {
    const codec = await findRemoteCodec(make, request)
    if (inKernel(codec)) return perform(request, codec)
    const input = readInput(request)
    if (input === undefined) return { id, buffer, length: 0, parts: [], unread: true }
    const decoded = await decodeWith(codec, input, decodedBytes)
    return perform(request, { name: codec.name, decodeIn: (arena) => arena.put(decoded) })
  } catch (error) {
    return { id, buffer, length: 0, parts: [], failure: toTaskFailure(error) }
  }
}

function findRemoteCodec(make: (spec: object) => Promise<MadeCodec>, { codec }: TaskRequest): Promise<MadeCodec> {
  const { id, spec } = codec!
  const made = known.get(id) ?? make(spec)
  known.delete(id)
  known.set(id, made)
  for (const oldest of known.keys()) {
    if (known.size <= MOST_KNOWN) break
    known.delete(oldest)
  }
  return made
}
