import { type DataOf, elementBytes, type FixedDType, fromBytes } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import type { ComputeKernels } from './compute.ts'
import { dropKernels, type Kernels, kernels } from './instance.ts'

/**
 * Kernel memory above which it is given back after use: 64 MiB. WebAssembly memory cannot shrink, so the
 * instance goes with it.
 */
export const KEPT_BYTES = 64 * 1024 * 1024

/**
 * Kernel memory for the length of one {@link withArena} session. Addresses (`pointer`) are numbers, 16-byte
 * aligned where `alloc` gives them.
 *
 * Views (`bytes`, `view`) die with anything that can grow the memory: `alloc`, `put`, `int32s`, an inner
 * session, and the kernel calls that allocate. Take them last and take them again afterwards; addresses stay
 * good until the session ends.
 */
export class Arena {
  readonly kernels: Kernels
  /** What `compute.ts` has instantiated over this memory. */
  compute: ComputeKernels | undefined
  #bytes = new Uint8Array(0)
  #int32s = new Int32Array(0)

  constructor(kernels: Kernels) {
    this.kernels = kernels
  }

  /**
   * Address of `bytes` fresh bytes, whose contents are whatever was there. At least 64 more can be read
   * behind them.
   * @throws OutOfMemoryError when the kernel memory (4 GiB at most) cannot hold them
   */
  alloc(bytes: number): number {
    // the kernel takes 32 bits: more would wrap round
    const pointer = bytes < 2 ** 32 ? this.kernels.arenaAlloc(bytes) >>> 0 : 0
    if (pointer === 0) {
      const inUse = this.kernels.arenaMark() >>> 0
      throw new HyperslabError('OutOfMemoryError', `no room for ${bytes} bytes in kernel memory: ${inUse} in use`, {
        actual: bytes,
      })
    }
    return pointer
  }

  /**
   * Copies bytes in; address of the copy.
   * @throws OutOfMemoryError
   */
  put(bytes: Uint8Array): number {
    const pointer = this.alloc(bytes.byteLength)
    this.#memory().set(bytes, pointer)
    return pointer
  }

  /**
   * Writes 32-bit integers (shapes, strides; lengths up to 2^32 - 1 wrap as the kernels expect); address of
   * the first.
   * @throws OutOfMemoryError
   */
  int32s(values: readonly number[]): number {
    const pointer = this.alloc(4 * values.length)
    this.#memory()
    for (let i = 0, at = pointer >>> 2; i < values.length; i++) this.#int32s[at + i] = values[i]!
    return pointer
  }

  /** View of `length` bytes at `pointer`. */
  bytes(pointer: number, length: number): Uint8Array {
    return new Uint8Array(this.kernels.memory.buffer, pointer, length)
  }

  /**
   * View of `length` elements at `pointer`; a copy where the address is not a multiple of the element size.
   */
  view<D extends FixedDType>(dtype: D, pointer: number, length: number): DataOf<D> {
    return fromBytes(dtype, this.bytes(pointer, length * elementBytes(dtype)))
  }

  /** Gives back at the end of `use` what it allocated. For calls that need a few descriptors. */
  scratch<T>(use: () => T): T {
    const mark = this.kernels.arenaMark()
    try {
      return use()
    } finally {
      this.kernels.arenaReset(mark)
    }
  }

  /** A view on all memory, made again only when growing detached the last one. */
  #memory(): Uint8Array {
    if (this.#bytes.length === 0) {
      this.#bytes = new Uint8Array(this.kernels.memory.buffer)
      this.#int32s = new Int32Array(this.kernels.memory.buffer)
    }
    return this.#bytes
  }
}

let current: Arena | undefined
let depth = 0
let spoilt = false

/**
 * Whether an error means that a WebAssembly instance was left in the middle of its work, so that its memory
 * may hold anything: a trap, or a stack that overflowed.
 */
export const isTrap = (error: unknown): boolean =>
  error instanceof RangeError || (error instanceof Error && error.name === 'RuntimeError')

/**
 * Runs `use` with kernel memory and frees at its end, also when it throws, all it allocated. Sessions nest.
 * `use` must be synchronous: the memory is everybody's, so an arena (its addresses, its views) must not
 * outlive the call it was handed to. An instance in which a kernel trapped is given up once the outermost
 * session has ended: the others still use its memory.
 * @throws UnsupportedError when the kernels cannot be compiled here
 */
export function withArena<T>(use: (arena: Arena) => T): T {
  const live = kernels()
  if (current?.kernels !== live) current = new Arena(live)
  const arena = current
  const mark = live.arenaMark()
  depth++
  try {
    return use(arena)
  } catch (error) {
    if (isTrap(error)) spoilt = true
    throw error
  } finally {
    depth--
    live.arenaReset(mark)
    if (depth === 0 && (spoilt || live.memory.buffer.byteLength > KEPT_BYTES)) {
      spoilt = false
      current = undefined
      dropKernels()
    }
  }
}
