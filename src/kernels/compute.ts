import type { Arena } from './arena.ts'
import { COMPUTE_BYTES, COMPUTE_TEXT } from './compute.generated.ts'
import type { ComputeKernels, Kernels } from './instance.ts'
import { compilesOnlyWhileLoading, compileText, instantiate, kernelsRefusal } from './module.ts'

let compiled: object | undefined

/**
 * The kernels of reductions, statistics and writing, over the memory of an arena. Only what is loaded for one
 * of these imports this file, which holds them as text.
 * @throws UnsupportedError when this platform does not compile WebAssembly now
 */
export function compute(arena: Arena): ComputeKernels {
  arena.compute ??= over(arena.kernels)
  return arena.compute
}

/** The module that initKernels was given has them all. */
const isWhole = (kernels: Kernels): kernels is Kernels & ComputeKernels => 'reduce' in kernels

const over = (kernels: Kernels): ComputeKernels =>
  isWhole(kernels) ? kernels : instantiate<ComputeKernels>(compiledText(), { env: { memory: kernels.memory } }).exports

/**
 * The compiled module, to hand to another thread with that of `kernels`; undefined where that one has all.
 * @throws UnsupportedError as {@link compute} does
 */
export const computeModule = (kernels: Kernels): object | undefined => (isWhole(kernels) ? undefined : compiledText())

function compiledText(): object {
  try {
    compiled ??= compileText(COMPUTE_TEXT, COMPUTE_BYTES)
    return compiled
  } catch (cause) {
    throw kernelsRefusal(cause)
  }
}

/** What a worker does with the module that another thread has compiled. */
export function useComputeModule(module: object): void {
  compiled = module
}

// A failure is reported by the first call that needs them.
if (compilesOnlyWhileLoading()) {
  try {
    compiledText()
  } catch {}
}
