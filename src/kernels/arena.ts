import { type DataOf, elementBytes, type FixedDType, fromBytes } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import type { ComputeKernels } from './compute.ts'
import { dropKernels, type Kernels, kernels } from './instance.ts'

/**
 * Size above which kernel memory is released after use: 64 MiB. WebAssembly memory cannot shrink, so the
 * whole instance is dropped.
 */
export const KEPT_BYTES = 64 * 1024 * 1024

/**
 * Kernel memory for one {@link withArena} session. Addresses (`pointer`) are numbers; `alloc` aligns them to
 * 16 bytes.
 *
 * Views (`bytes`, `view`) become invalid with any call that can grow the memory: `alloc`, `put`, `int32s`, an
 * inner session, and kernel calls that allocate. Create views last, and again after such a call. Addresses
 * stay valid until the session ends.
 */
export class Arena {
  readonly kernels: Kernels
  /** Kernels that `compute.ts` has instantiated over this memory. */
  compute: ComputeKernels | undefined
  #bytes = new Uint8Array(0)
  #int32s = new Int32Array(0)

  constructor(kernels: Kernels) {
    this.kernels = kernels
  }

  /**
   * Allocates `bytes` uninitialised bytes and returns their address. At least 64 more bytes behind them are
   * readable.
   * @throws OutOfMemoryError if the kernel memory (4 GiB at most) cannot hold them
   */
  alloc(bytes: number): number {
    // The kernel takes 32-bit sizes; larger ones would wrap around.
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
   * Copies bytes into kernel memory; returns the address of the copy.
   * @throws OutOfMemoryError if the memory cannot hold them
   */
  put(bytes: Uint8Array): number {
    const pointer = this.alloc(bytes.byteLength)
    this.#memory().set(bytes, pointer)
    return pointer
  }

  /**
   * Writes 32-bit integers: shapes, strides, and lengths, which wrap up to 2^32 - 1 as the kernels expect.
   * Returns the address of the first.
   * @throws OutOfMemoryError if the memory cannot hold them
   */
  int32s(values: readonly number[]): number {
    const pointer = this.alloc(4 * values.length)
    this.#memory()
    for (let i = 0, at = pointer >>> 2; i < values.length; i++) this.#int32s[at + i] = values[i]!
    return pointer
  }

  /** Returns a view of `length` bytes at `pointer`. */
  bytes(pointer: number, length: number): Uint8Array {
    return new Uint8Array(this.kernels.memory.buffer, pointer, length)
  }

  /**
   * Returns a view of `length` elements at `pointer`, or a copy if the address is not a multiple of the
   * element size.
   */
  view<D extends FixedDType>(dtype: D, pointer: number, length: number): DataOf<D> {
    return fromBytes(dtype, this.bytes(pointer, length * elementBytes(dtype)))
  }

  /** Frees at the end of `use` what it allocated. For calls that need a few descriptors. */
  scratch<T>(use: () => T): T {
    const mark = this.kernels.arenaMark()
    try {
      return use()
    } finally {
      this.kernels.arenaReset(mark)
    }
  }

  /** Returns a view of the whole memory; recreated only after growth detached the last one. */
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
 * Whether an error may have interrupted a WebAssembly instance, so that its memory is undefined: a trap, or a
 * stack overflow.
 */
export const isTrap = (error: unknown): boolean =>
  error instanceof RangeError || (error instanceof Error && error.name === 'RuntimeError')

/**
 * Runs `use` with kernel memory and frees all its allocations at the end, also after an error. Sessions nest.
 * `use` must be synchronous, because all code of the thread shares the memory. An arena, its addresses and
 * its views must not outlive the call. After a trap, the instance is dropped when the outermost session ends,
 * because outer sessions still use its memory.
 * @throws UnsupportedError if the platform cannot compile the kernels
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
