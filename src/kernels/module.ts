import { instantiateSync } from '@assemblyscript/loader'
import { HyperslabError } from '../core/errors.ts'

// What is used of the platform, whose own names for it need the DOM library.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
}
declare const navigator: { readonly userAgent?: string } | undefined

/**
 * Whether this is workerd, which compiles only while the global scope is evaluated, and what that imports
 * dynamically.
 */
export const compilesOnlyWhileLoading = (): boolean =>
  typeof navigator !== 'undefined' && navigator.userAgent === 'Cloudflare-Workers'

/**
 * The module that `scripts/embed-kernels.mjs` made text of, compiled when it is first asked for: in workerd
 * now, and whoever asks is told when that failed.
 * @returns what throws UnsupportedError when this platform does not compile WebAssembly now
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

/** Platforms disagree on what a value of another kind is: some take it for code that does not compile. */
export function checkInput(module: object): void {
  if (module instanceof WebAssembly.Module || module instanceof ArrayBuffer || ArrayBuffer.isView(module)) return
  throw new TypeError('neither a WebAssembly.Module nor bytes')
}

/** The error where a platform does not compile or run modules, or not now. */
export const kernelsRefusal = (cause: unknown): HyperslabError =>
  new HyperslabError(
    'UnsupportedError',
    `this platform does not run the WebAssembly kernels, which need SIMD: ${reasonOf(cause)}. If a content security policy forbids it, \
allow 'wasm-unsafe-eval'. If WebAssembly cannot be compiled while running, pass initKernels the module hyperslab/kernels.wasm`,
    { cause },
  )

export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/**
 * The bytes of a module, from the text that `scripts/embed-kernels.mjs` made of them. It runs once, before
 * the engine has compiled it: what it does for a byte are a few steps without a call.
 */
function bytesOfText(text: string, length: number): Uint8Array {
  const codes = new TextEncoder().encode(text)
  const digits = new Uint8Array(128)
  // They come first.
  for (let digit = 0; digit < 84; digit++) digits[codes[digit]!] = digit
  const bytes = new Uint8Array(length)
  for (let i = 0, at = 84; i < length; i++) {
    const first = digits[codes[at++]!]!
    bytes[i] = first < 3 ? 81 * (first + 1) + digits[codes[at++]!]! - 3 : first - 3
  }
  return bytes
}
