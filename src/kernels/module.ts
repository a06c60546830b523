import { instantiateSync } from '@assemblyscript/loader'
import { HyperslabError } from '../core/errors.ts'

// The types of these globals are in the DOM library, which this project does not include.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
}
declare const navigator: { readonly userAgent?: string } | undefined

/**
 * Whether this is workerd, which compiles WebAssembly only while it evaluates the global scope and its
 * dynamic imports.
 */
export const compilesOnlyWhileLoading = (): boolean =>
  typeof navigator !== 'undefined' && navigator.userAgent === 'Cloudflare-Workers'

/**
 * Returns a function that compiles the module embedded as text by `scripts/embed-kernels.mjs`, once. In
 * workerd, the module is compiled immediately; the function throws if that failed.
 * @returns throws UnsupportedError if the platform cannot compile WebAssembly now
 */
export function embedded(text: string, length: number): () => object {
  let compiled: object | undefined
  const module = (): object => {
    try {
      compiled ??= new WebAssembly.Module(bytesOfText(text, length))
      return compiled
    } catch (cause) {
      throw kernelsRefusal(cause)
    }
  }
  if (compilesOnlyWhileLoading()) {
    try {
      module()
    } catch {}
  }
  return module
}

/**
 * Instantiates kernels. Returns the exports of the instance, because the loader's own exports wrap each
 * function and allocate an array on each call.
 * @param module a compiled module, or its bytes
 */
export function instantiate<T>(module: object, imports: object = {}): { readonly compiled: object; readonly exports: T } {
  const result = instantiateSync(module as never, imports as never)
  return { compiled: result.module, exports: result.instance.exports as T }
}

/**
 * @throws TypeError for input of another type. Platforms disagree on it: some treat it as code that does
 *   not compile
 */
export function checkInput(module: object): void {
  if (module instanceof WebAssembly.Module || module instanceof ArrayBuffer || ArrayBuffer.isView(module)) return
  throw new TypeError('neither a WebAssembly.Module nor bytes')
}

/** Creates the error for platforms that cannot compile or run modules, permanently or now. */
export const kernelsRefusal = (cause: unknown): HyperslabError =>
  new HyperslabError(
    'UnsupportedError',
    `this platform does not run the WebAssembly kernels, which need SIMD: ${reasonOf(cause)}. If a content security policy forbids it, \
allow 'wasm-unsafe-eval'. If WebAssembly cannot be compiled while running, pass initKernels the module hyperslab/kernels.wasm`,
    { cause },
  )

export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/**
 * Decodes the bytes of a module from the text of `scripts/embed-kernels.mjs`. It runs once, before the engine
 * compiles it, so each byte takes only a few steps without a call.
 */
function bytesOfText(text: string, length: number): Uint8Array {
  const codes = new TextEncoder().encode(text)
  const digits = new Uint8Array(128)
  // The text begins with its digits.
  for (let digit = 0; digit < 84; digit++) digits[codes[digit]!] = digit
  const bytes = new Uint8Array(length)
  for (let i = 0, at = 84; i < length; i++) {
    const first = digits[codes[at++]!]!
    bytes[i] = first < 3 ? 81 * (first + 1) + digits[codes[at++]!]! - 3 : first - 3
  }
  return bytes
}
