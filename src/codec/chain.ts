import { HyperslabError, isHyperslabError, messageOf } from '../core/errors.ts'
import { type Arena, isTrap, withArena } from '../kernels/arena.ts'
import { checkSize } from './bounds.ts'
import { attempt, type Codec, type KernelCodec } from './codec.ts'

/** Bytes in kernel memory. */
export interface Span {
  readonly pointer: number
  readonly length: number
}

/** One step of decoding. It has `decodeIn` or `decode`; where it has both, the first is called. */
export interface Step {
  readonly name: string
  /** Loads what decoding needs; awaited when the array is opened. */
  ready?(): Promise<void>
  /** How many bytes so many decoded ones are before this step; left out where that depends on them. */
  encodedBytes?(bytes: number): number
  /** How many bytes there are before this step, where that is so whatever they decode to. */
  readonly inputBytes?: number
  /**
   * Decodes bytes in kernel memory, which it may overwrite, with up to 64 behind them.
   * @param decodedBytes how many it must give, where that is known
   * @param mostBytes how many it may give, where that is not known: it allocates no more
   * @throws CodecError
   */
  decodeIn?(arena: Arena, pointer: number, length: number, decodedBytes: number | undefined, mostBytes: number): Span
  /** Decodes bytes that must not be changed. */
  decode?(bytes: Uint8Array, decodedBytes: number | undefined, mostBytes: number): Uint8Array | Promise<Uint8Array>
}

/** What comes behind the last step in kernel memory where only decoding tells how long the result is. */
export const outOfKernel: Step = { name: 'payload', decode: (bytes) => bytes }

/**
 * A codec that decodes by one step after another: in kernel memory where all of them work there. An input
 * without any bytes stands for a block that nobody wrote.
 * @param absent what such a block decodes to; asked for 0 bytes where nobody knows how many it has
 * @param mostBytes to how many bytes a step may decode of which only decoding tells
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
        const sizes = sizesOf(steps, decodedBytes)
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
      const sizes = sizesOf(steps, known)
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

/** How many bytes there are before each step, and behind the last, where that is known. */
function sizesOf(steps: readonly Step[], decodedBytes: number | undefined): (number | undefined)[] {
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

/** What is thrown by decoders of others becomes an error that names the step. */
function named<T>(name: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (isHyperslabError(cause) || isTrap(cause)) throw cause
    throw new HyperslabError('CodecError', `${name} does not decode: ${messageOf(cause)}`, { cause })
  }
}
