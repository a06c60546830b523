import { instantiateSync } from '@assemblyscript/loader'
import { HyperslabError } from '../core/errors.js'
import { KERNELS_BASE64 } from './wasm.generated.js'

/** What the module exports: `assembly/index.ts`, where each file states its contract. Numbers are byte addresses and lengths unless they say. */
export interface Kernels {
  readonly memory: { readonly buffer: ArrayBuffer }
  arenaMark(): number
  arenaAlloc(bytes: number): number
  arenaReset(mark: number): void
  lz4Decode(src: number, srcBytes: number, dst: number, dstBytes: number, state: number, wanted: number): number
  lz4Bound(bytes: number): number
  lz4Encode(src: number, srcBytes: number, dst: number, dstCap: number): number
  copyStrided(
    elementBytes: number,
    rank: number,
    shape: number,
    src: number,
    srcStride: number,
    dst: number,
    dstStride: number,
  ): void
  fill(dst: number, elementBytes: number, count: number, value: number): void
  reduce(
    op: number,
    dtype: number,
    skip: number,
    fill: number,
    rank: number,
    shape: number,
    src: number,
    srcStride: number,
    acc: number,
    accStride: number,
    counts: number,
  ): void
  stats(dtype: number, skip: number, fill: number, src: number, count: number, out: number): void
  project(start: number, step: number, count: number, chunkLength: number, gridOffset: number, out: number): number
}

// The public types must not need the DOM library, so what is used of the platform is declared here.
type WasmModule = object
declare const WebAssembly: { Module: new (bytes: Uint8Array) => WasmModule }
declare function atob(base64: string): string
declare const navigator: { readonly userAgent?: string } | undefined

let compiled: WasmModule | undefined
let instance: Kernels | undefined

/**
 * The kernels, compiled and instantiated on first use.
 * @throws UnsupportedError when this platform does not compile WebAssembly with SIMD
 */
export function kernels(): Kernels {
  if (instance === undefined) {
    try {
      compiled ??= compile()
      // The wrappers the loader puts around functions cost an array a call; the plain exports do not.
      instance = instantiateSync(compiled as never).instance.exports as unknown as Kernels
    } catch (cause) {
      throw new HyperslabError(
        'UnsupportedError',
        `this platform does not run the WebAssembly kernels (WebAssembly with SIMD is needed): ${cause instanceof Error ? cause.message : cause}`,
        { cause },
      )
    }
  }
  return instance
}

/** Lets go of the instance and its memory. The compiled module stays, so the next one is there in a fraction of a millisecond. */
export function dropKernels(): void {
  instance = undefined
}

function compile(): WasmModule {
  const binary = atob(KERNELS_BASE64)
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i)
  return new WebAssembly.Module(bytes)
}

// workerd compiles only while the global scope is evaluated. A failure is reported by the first call that needs the kernels.
if (typeof navigator !== 'undefined' && navigator.userAgent === 'Cloudflare-Workers') {
  try {
    compiled = compile()
  } catch {}
}
