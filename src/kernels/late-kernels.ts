import type { Arena } from './arena.ts'
import { instantiate } from './module.ts'

/** Kernels in a module of their own, which is compiled with the first use and shared with other threads. */
export interface LateKernels<K> {
  /**
   * Returns the compiled module, to send to another thread; undefined if the kernels include these.
   * @throws UnsupportedError if the platform cannot compile WebAssembly now
   */
  module(kernels: object): object | undefined
  /** Uses the module that another thread compiled. Called in workers. */
  useModule(module: object): void
  /**
   * Returns the kernels, over the memory of an arena.
   * @throws UnsupportedError if the platform cannot compile WebAssembly now
   */
  over(arena: Pick<Arena, 'kernels'>): K
}

/**
 * Creates kernels of a module.
 * @param compile compiles the module once
 * @param name of one of them. The complete module passed to initKernels has it, too
 */
export function lateKernels<K extends object>(compile: () => object, name: keyof K & string): LateKernels<K> {
  let compiled: object | undefined
  /** Instances by the kernels whose memory they use. */
  const instances = new WeakMap<object, K>()
  const isWhole = (kernels: object): kernels is K => name in kernels
  const toModule = (kernels: object): object | undefined => {
    if (isWhole(kernels)) return undefined
    compiled ??= compile()
    return compiled
  }
  return {
    module: toModule,
    useModule(module) {
      compiled = module
    },
    over({ kernels }) {
      const known = instances.get(kernels)
      if (known !== undefined) return known
      const made = isWhole(kernels)
        ? kernels
        : instantiate<K>(toModule(kernels)!, { env: { memory: (kernels as Arena['kernels']).memory } }).exports
      instances.set(kernels, made)
      return made
    },
  }
}
