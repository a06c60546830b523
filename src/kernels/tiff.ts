import type { Arena } from './arena.ts'
import { type LateKernels, lateKernels } from './late-kernels.ts'
import { embedded } from './module.ts'
import { TIFF_BYTES, TIFF_TEXT } from './tiff.generated.ts'

/** Kernels of TIFF: `assembly/tiff.ts`. Numbers are byte addresses, counts and lengths. */
interface TiffKernelFunctions {
  lzwDecode(src: number, srcBytes: number, dst: number, dstBytes: number, work: number, isOld: number): number
  packBitsDecode(src: number, srcBytes: number, dst: number, dstBytes: number): number
  addLeft(at: number, rows: number, rowSamples: number, step: number, bytes: number): void
  joinPlanes(src: number, dst: number, rows: number, rowSamples: number, step: number, bytes: number): void
  reverseBits(at: number, bytes: number): void
  unpackRows(src: number, dst: number, rows: number, rowSamples: number, bits: bigint, bytes: number): void
  widenTriples(src: number, dst: number, count: number, isBigEndian: number): void
}

/** Kernels of TIFF. */
export const tiffKernels: LateKernels<TiffKernelFunctions> = lateKernels(embedded(TIFF_TEXT, TIFF_BYTES), 'lzwDecode')

/** Returns the kernels, over the memory of an arena. */
export const tiff = (arena: Pick<Arena, 'kernels'>): TiffKernelFunctions => tiffKernels.over(arena)
