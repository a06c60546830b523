import { HyperslabError, isHyperslabError, messageOf } from '../core/errors.ts'
import { type Arena, isTrap, withArena } from '../kernels/arena.ts'
import { checkSize } from './bounds.ts'
import { attempt, type Codec, type KernelCodec } from './codec.ts'

/** A range of bytes in kernel memory. */
export interface Span {
  readonly pointer: number
  readonly length: number
}

/** One decoding step. It has `decodeIn` or `decode`; if it has both, `decodeIn` is called. */
export interface Step {
  readonly name: string
  /** Loads the decoder; awaited when the array is opened. */
  ready?(): Promise<void>
  /**
   * Returns the input bytes for a number of decoded bytes. Optional: steps whose ratio depends on the data
   * omit it.
   */
  encodedBytes?(bytes: number): number
  /** Fixed number of input bytes, if there is one. */
  readonly inputBytes?: number
  /**
   * Decodes bytes in kernel memory. It may overwrite them and up to 64 bytes behind them.
   * @param decodedBytes exact number of decoded bytes, if it is known
   * @param mostBytes limit of decoded bytes and of allocation, used if the exact number is unknown
   * @throws CodecError if the bytes are malformed or decode to an unexpected number
   */
  decodeIn?(arena: Arena, pointer: number, length: number, decodedBytes: number | undefined, mostBytes: number): Span
  /** Decodes bytes, which must not be changed. */
  decode?(bytes: Uint8Array, decodedBytes: number | undefined, mostBytes: number): Uint8Array | Promise<Uint8Array>
}

/** Step that copies the result out of kernel memory. Needed if its length is unknown before decoding. */
export const outOfKernel: Step = { name: 'payload', decode: (bytes) => bytes }

/**
 * Creates a codec that runs decoding steps in order: in kernel memory if all of them support it. An empty
 * input stands for an unwritten block.
 * @param absent returns the decoded bytes of an unwritten block; gets 0 if their number is unknown
 * @param mostBytes limit of decoded bytes of steps whose exact number is unknown
 */
export function chainCodec(
  name: string,
  steps: readonly Step[],
  absent: (bytes: number) => Uint8Array,
  mostBytes: number,
): (Codec | KernelCodec) & { ready(): Promise<void> } {
  const ready = async (): Promise<void> => {
    await Promise.all(steps.map((step) => step.ready?.()))
  }
  if (steps.every(isInKernel))
    return {
      name,
      ready,
      decodeIn(arena, pointer, length, decodedBytes) {
        if (length === 0) return arena.put(absent(decodedBytes))
        const sizes = inputSizes(steps, decodedBytes)
        checkSize(name, length, sizes[0], Infinity)
        return runInKernel(arena, steps, sizes, mostBytes, 0, steps.length, { pointer, length }).pointer
      },
    }
  return {
    name,
    ready,
    async decode(bytes: Uint8Array, decodedBytes: number) {
      const known = decodedBytes < Infinity ? decodedBytes : undefined
      if (bytes.length === 0) return absent(known ?? 0)
      const sizes = inputSizes(steps, known)
      checkSize(name, bytes.length, sizes[0], Infinity)
      let current = bytes
      for (let at = 0; at < steps.length; ) {
        const end = endOfRun(steps, at)
        if (end > at) {
          current = withArena((arena) => {
            const span = { pointer: arena.put(current), length: current.length }
            const decoded = runInKernel(arena, steps, sizes, mostBytes, at, end, span)
            return arena.bytes(decoded.pointer, decoded.length).slice()
          })
          at = end
        } else {
          const input = current
          const step = steps[at++]!
          current = await attempt(`${step.name} does not decode`, () => step.decode!(input, sizes[at], mostBytes))
          checkSize(step.name, current.length, sizes[at], mostBytes)
        }
      }
      return current
    },
  }
}

type KernelStep = Step & Required<Pick<Step, 'decodeIn'>>

const isInKernel = (step: Step): step is KernelStep => step.decodeIn !== undefined

function endOfRun(steps: readonly Step[], at: number): number {
  while (at < steps.length && isInKernel(steps[at]!)) at++
  return at
}

/** Returns the known byte counts before each step and behind the last one. */
function inputSizes(steps: readonly Step[], decodedBytes: number | undefined): (number | undefined)[] {
  const sizes = new Array<number | undefined>(steps.length + 1)
  sizes[steps.length] = decodedBytes
  for (let i = steps.length - 1; i >= 0; i--) {
    const size = sizes[i + 1]
    sizes[i] = steps[i]!.inputBytes ?? (size === undefined ? undefined : steps[i]!.encodedBytes?.(size))
  }
  return sizes
}

function runInKernel(
  arena: Arena,
  steps: readonly Step[],
  sizes: readonly (number | undefined)[],
  mostBytes: number,
  start: number,
  end: number,
  input: Span,
): Span {
  let span = input
  for (let i = start; i < end; i++) {
    const step = steps[i] as KernelStep
    const { pointer, length } = span
    span = named(step.name, () => step.decodeIn(arena, pointer, length, sizes[i + 1], mostBytes))
    checkSize(step.name, span.length, sizes[i + 1], mostBytes)
  }
  return span
}

/** Converts foreign exceptions of decoders to an error that names the step. */
function named<T>(name: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (isHyperslabError(cause) || isTrap(cause)) throw cause
    throw new HyperslabError('CodecError', `${name} does not decode: ${messageOf(cause)}`, { cause })
  }
}
