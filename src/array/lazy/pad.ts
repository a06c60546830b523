import { type DType, fillElement, type ScalarOf } from '../../core/dtype.ts'
import { invalidArgument } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { quoted } from '../../core/quoted.ts'
import { ChunkGrid } from '../../grid/chunks.ts'
import { padChunks } from '../../grid/derived-chunks.ts'
import { missingElement, missingElements } from '../missing.ts'
import type { BlockSource } from '../source.ts'
import { deriveSource } from './derive.ts'

/** Options of `pad`. */
export interface PadOptions<D extends DType> {
  /** Elements around the array: one value (default), or the nearest element. */
  readonly mode?: 'constant' | 'edge'
  /** Value of `constant`. By default the missing value of the array, or else its fill value or zero. */
  readonly value?: ScalarOf<D>
}

const CHECKS: Checks<PadOptions<DType>> = { mode: ['constant', 'edge'], value: 'value' }

/** Widths before and after an axis; one number for both. */
export type Padding = number | readonly [low: number, high: number]

/**
 * Returns an array with positions added around it; read-only.
 * @param widths one padding per axis, or one for all
 * @throws InvalidArgumentError unless widths are non-negative integers, one per axis; for edges of axes of
 *   length 0
 */
export function pad<D extends DType>(
  source: BlockSource<D>,
  widths: number | readonly Padding[],
  options: PadOptions<D> = {},
): BlockSource<D> {
  checkOptions('pad', options, CHECKS)
  const { mode = 'constant', value } = options
  const pairs = toPairs(source, widths)
  const edge = mode === 'edge'
  if (edge && source.shape.some((length, axis) => length === 0 && Math.max(...pairs[axis]!) > 0))
    invalidArgument('an empty axis has no edge to repeat', source.shape)
  const origin = pairs.map(([low]) => low)
  const given = value ?? missingElement(missingElements(source)) ?? source.fillValue
  const fill = fillElement(source.dtype, given as ScalarOf<D> | undefined)
  return deriveSource(source, {
    chunks: new ChunkGrid(source.chunks.axes.map((chunks, axis) => padChunks(chunks, ...pairs[axis]!))),
    readBlock: async (box, out, options) =>
      (await import('./padded.ts')).readPadded(source, { origin, edge, fill }, box, out, options),
  })
}

const isPair = (pair: unknown): boolean =>
  Array.isArray(pair) && pair.length === 2 && pair.every((each) => Number.isSafeInteger(each) && each >= 0)

function toPairs({ shape }: BlockSource, widths: number | readonly Padding[]): (readonly [number, number])[] {
  const given = typeof widths === 'number' ? shape.map(() => widths) : widths
  if (!Array.isArray(given))
    invalidArgument(`paddings are a number, or a list with one for each axis, got ${quoted(given)}`, widths)
  if (given.length !== shape.length) invalidArgument(`paddings of ${given.length} axes for an array of ${shape.length}`, widths)
  return (given as readonly Padding[]).map((width) => {
    const pair: readonly [number, number] = typeof width === 'number' ? [width, width] : width
    if (!isPair(pair)) invalidArgument(`padding must be non-negative integers, got ${quoted(width)}`, width)
    return pair
  })
}
