import { chainCodec, type Step } from '../../codec/chain.ts'
import { type Codec, type KernelCodec, remoteCodec, type SharedCodec } from '../../codec/codec.ts'
import { inflateStep } from '../../codec/inflate.ts'
import { zstdStep } from '../../codec/steps.ts'
import { elementBytes } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Arena } from '../../kernels/arena.ts'
import { copyStrided, type ElementBytes } from '../../kernels/copy.ts'
import { filters } from '../../kernels/filters.ts'
import { kernels } from '../../kernels/instance.ts'
import { tiff, tiffKernels } from '../../kernels/tiff.ts'
import type { SampleType } from './samples.ts'

/** Description of a tile's decoding, as data that can be sent to other threads. */
export interface TileSpec {
  readonly compression: string
  readonly predictor: number
  readonly isReversed: boolean
  readonly isBigEndian: boolean
  readonly sample: SampleType
  /** Samples of a pixel in the tile, one after another. */
  readonly samples: number
  readonly width: number
  readonly rows: number
  /** Bytes that it decodes to before samples are converted. */
  readonly storedBytes: number
  /** Largest number of these bytes in a stream. Some writers store the last strip as a whole one. */
  readonly mostBytes: number
}

/** A tile's decoding with the compiled kernels, for another thread. */
export interface SharedTileSpec {
  readonly tile: TileSpec
  readonly tiffModule: object | undefined
}

/** Room for the headers of streams that lie between two steps, in bytes. */
const MOST_HEADER_BYTES = 4096

type TileCodec = (Codec | KernelCodec) & SharedCodec & { ready(): Promise<void> }

/**
 * Returns the codec of tiles. It decodes to samples in planes. Await its `ready` before the first tile.
 * @param first steps that replace the compression and return little-endian samples
 */
export function tileCodec(spec: TileSpec, first?: readonly Step[]): TileCodec {
  const steps = first ?? decompression(spec)
  const used = first === undefined ? spec : { ...spec, isBigEndian: false, predictor: 1, isReversed: false }
  // Between two steps, compressed bytes may be more than the samples: noise expands, LERC adds a mask.
  const isSamples = first === undefined && !spec.isReversed
  const mostBytes = isSamples ? spec.mostBytes : 2 * spec.mostBytes + MOST_HEADER_BYTES
  const codec = chainCodec('tile', [...steps, samplesStep(used)], emptyTile, mostBytes)
  const shared: SharedTileSpec | undefined =
    first === undefined ? { tile: spec, tiffModule: tiffKernels.module(kernels()) } : undefined
  return { ...codec, remote: shared && remoteCodec(shared) }
}

/** Returns the codec that another thread described. */
export async function openTileSpec({ tile, tiffModule }: SharedTileSpec): Promise<TileCodec> {
  if (tiffModule !== undefined) tiffKernels.useModule(tiffModule)
  const codec = tileCodec(tile)
  await codec.ready()
  return codec
}

function emptyTile(): never {
  throw new HyperslabError('CodecError', 'a stored tile has 0 bytes')
}

/** Returns the steps from the stored bytes to uncompressed ones. */
function decompression({ compression, isReversed, storedBytes, mostBytes }: TileSpec): Step[] {
  const reverse = isReversed ? [reverseStep] : []
  if (compression === 'none') return reverse
  if (compression === 'lzw') return [...reverse, lzwStep(storedBytes)]
  if (compression === 'packbits') return [...reverse, packBitsStep(storedBytes)]
  const isSized = mostBytes === storedBytes
  const step = compression === 'deflate' ? inflateStep('zlib') : zstdStep(isSized)
  return isSized ? [step] : [step, cutStep(storedBytes)]
}

const reverseStep: Step = {
  name: 'order of bits',
  encodedBytes: (bytes) => bytes,
  decodeIn(arena, pointer, length) {
    tiff(arena).reverseBits(pointer, length)
    return { pointer, length }
  },
}

/** Bytes of the kernel's table of codes. */
const CODES_BYTES = 32 * 1024

function lzwStep(bytes: number): Step {
  return {
    name: 'lzw',
    decodeIn(arena, pointer, length) {
      const target = arena.alloc(bytes)
      // Old files begin with a clear code whose bits are in reverse order.
      const [first, second] = arena.bytes(pointer, Math.min(length, 2))
      const isOld = first === 0 && (second! & 1) === 1
      let decoded = 0
      arena.scratch(() => {
        decoded = tiff(arena).lzwDecode(pointer, length, target, bytes, arena.alloc(CODES_BYTES), Number(isOld))
      })
      if (decoded === -1) throw malformed('lzw', `a code is used before it is defined (${length} bytes of input)`)
      return whole('lzw', target, decoded >>> 0, bytes)
    },
  }
}

const packBitsStep = (bytes: number): Step => ({
  name: 'packbits',
  decodeIn(arena, pointer, length) {
    const target = arena.alloc(bytes)
    return whole('packbits', target, tiff(arena).packBitsDecode(pointer, length, target, bytes) >>> 0, bytes)
  },
})

/** Drops the rows of a whole strip that are below the image. */
const cutStep = (bytes: number): Step => ({
  name: 'last strip',
  decodeIn: (_, pointer, length) => whole('last strip', pointer, Math.min(length, bytes), bytes),
})

/** @throws CodecError unless all bytes were decoded */
function whole(name: string, pointer: number, decoded: number, expected: number): { pointer: number; length: number } {
  if (decoded !== expected) throw malformed(name, `they end after ${decoded} of ${expected} decoded bytes`)
  return { pointer, length: expected }
}

const malformed = (name: string, text: string): HyperslabError =>
  new HyperslabError('CodecError', `malformed ${name} bytes: ${text}`)

const VECTOR = Uint8Array.from({ length: 16 }, (_, i) => i)

/** Returns the step from stored samples to elements. */
function samplesStep(spec: TileSpec): Step {
  const { sample, samples, width, rows, storedBytes } = spec
  const parts = sample.isComplex ? 2 : 1
  const values = rows * width * samples * parts
  const length = values * elementBytes(sample.dtype)
  return {
    name: 'samples',
    inputBytes: storedBytes,
    decodeIn(arena, pointer) {
      const numbers = toNumbers(spec, arena, pointer, width * samples * parts)
      const elements = toElements(spec, arena, numbers, values)
      return { pointer: samples === 1 ? elements : toPlanes(spec, arena, elements, parts, length), length }
    },
  }
}

/** Restores the byte order, and the numbers that a predictor replaced. */
function toNumbers(spec: TileSpec, arena: Arena, pointer: number, rowValues: number): number {
  const { predictor, isBigEndian, sample, samples, rows, storedBytes } = spec
  const bytes = sample.bits / 8
  if (predictor === 3) {
    const target = arena.alloc(storedBytes)
    tiff(arena).joinPlanes(pointer, target, rows, rowValues, samples, bytes)
    return target
  }
  if (isBigEndian && (bytes === 2 || bytes === 4 || bytes === 8)) {
    // Within a number, the position of a byte and that of its source differ in all bits.
    const places = VECTOR.map((i) => i ^ (bytes - 1))
    arena.scratch(() => filters(arena).swap(pointer, storedBytes, arena.put(places)))
  }
  // Numbers are summed in the machine's byte order.
  if (predictor === 2) tiff(arena).addLeft(pointer, rows, rowValues, samples, bytes)
  return pointer
}

/** Converts numbers to elements of the type of the array. */
function toElements({ sample, predictor, isBigEndian, rows }: TileSpec, arena: Arena, pointer: number, values: number): number {
  const { bits, isFloat, dtype } = sample
  const bytes = elementBytes(dtype)
  if (bits === 8 * bytes) return pointer
  const target = arena.alloc(values * bytes)
  if (isFloat && bits === 24) tiff(arena).widenTriples(pointer, target, values, Number(isBigEndian && predictor !== 3))
  else if (isFloat) filters(arena).widenHalf(pointer, target, values)
  else tiff(arena).unpackRows(pointer, target, rows, values / rows, BigInt(bits), bytes)
  return target
}

/** Separates the samples of pixels. */
function toPlanes(
  { sample, samples, width, rows }: TileSpec,
  arena: Arena,
  pointer: number,
  parts: number,
  length: number,
): number {
  const target = arena.alloc(length)
  const pixels = rows * width
  const unit = elementBytes(sample.dtype) as ElementBytes
  copyStrided(arena, unit, [samples, pixels, parts], pointer, [parts, samples * parts, 1], target, [pixels * parts, parts, 1])
  return target
}
