import { HyperslabError } from '../../core/errors.ts'
import { showShape, sizeOf } from '../../core/shape.ts'
import type { ArrayMeta, BlockMeta, Footer } from './footer.ts'

/**
 * Checks that the numbers in a footer agree with each other and with the file, so that reading needs no
 * further checks of ranges.
 *
 * Everything found makes the file unreadable, because nothing in the format guards the data: a footer that is
 * wrong in one place cannot be trusted in others. Tolerated, because readers have a rule for them:
 *
 * - chunks outside the chunk grid (an array that shrank): never asked for
 * - several blocks of one id, chunks of one coordinate: the first counts; arrays of one name: the last counts
 * - gaps and overlaps between blocks, unknown codecs, sizes that differ from what decoding gives: found when
 *   the block is read
 * - attribute indices beyond the dictionaries: they may mean those of a layer below
 * - anything in a deleted array, of which only the name is ever used
 *
 * @param dataBytes bytes in front of the payload
 * @param report takes what is found; throws it unless given
 * @throws FormatError naming the array or block and the numbers
 */
export function checkFooter(footer: Footer, dataBytes: number, report: Report = raise): void {
  for (const block of footer.blocks) checkBlock(block, dataBytes, report)
  const blocks = blocksById(footer.blocks)
  for (const array of footer.arrays) if (!array.deleted) checkArray(array, blocks, report)
}

type Report = (error: HyperslabError) => void

const raise: Report = (error) => {
  throw error
}

/** Blocks by their ids, which need not be their indices. Of several with one id, the first. */
export function blocksById(blocks: readonly BlockMeta[]): Map<number, BlockMeta> {
  const byId = new Map<number, BlockMeta>()
  for (const block of blocks) if (!byId.has(block.id)) byId.set(block.id, block)
  return byId
}

function checkBlock({ id, fileOffset, compressedBytes }: BlockMeta, dataBytes: number, report: Report): void {
  // Compared without a sum, which could be beyond 2^53.
  if (fileOffset <= dataBytes && compressedBytes <= dataBytes - fileOffset) return
  const text = `block ${id} has ${compressedBytes} bytes at ${fileOffset}, beyond the ${dataBytes} bytes of data in the file`
  report(new HyperslabError('FormatError', text, { actual: [fileOffset, compressedBytes], expected: dataBytes }))
}

function checkArray(array: ArrayMeta, blocks: ReadonlyMap<number, BlockMeta>, report: Report): void {
  const wrong: Wrong = (text, actual, expected, axis) =>
    report(
      new HyperslabError('FormatError', text, { array: array.name, actual, expected, ...(axis === undefined ? {} : { axis }) }),
    )
  checkShapes(array, wrong)
  const { length, blockIds, offsets, sizes } = array.chunks
  let block: BlockMeta | undefined
  for (let index = 0; index < length; index++) {
    const id = blockIds[index]!
    // Neighbours mostly share a block.
    if (block?.id !== id) block = blocks.get(id)
    if (block === undefined) {
      wrong(`chunk ${showCoord(array, index)} is in block ${id}, which does not exist`, id)
      continue
    }
    if (offsets[index]! + sizes[index]! <= block.uncompressedBytes) continue
    const place = `chunk ${showCoord(array, index)} has ${sizes[index]} bytes at ${offsets[index]}`
    wrong(`${place}, beyond the ${block.uncompressedBytes} bytes of block ${id}`, offsets[index]!, block.uncompressedBytes)
  }
}

type Wrong = (text: string, actual: unknown, expected?: unknown, axis?: number) => void

/**
 * One chunk length an axis, of which there is a grid; one name an axis or, in files of other writers, none at
 * all.
 */
function checkShapes({ shape, chunkShape, dimensionNames }: ArrayMeta, wrong: Wrong): void {
  const rank = shape.length
  if (!Number.isSafeInteger(sizeOf(shape))) wrong(`shape ${showShape(shape)} has more than 2^53 elements`, shape)
  if (chunkShape.length !== rank) wrong(`shape ${showShape(shape)}, but chunk shape ${showShape(chunkShape)}`, chunkShape, rank)
  if (dimensionNames.length !== rank && dimensionNames.length !== 0) {
    wrong(`${rank} axes, but ${dimensionNames.length} dimension names`, dimensionNames, rank)
  }
  const axis = shape.findIndex((length, axis) => length > 0 && chunkShape[axis] === 0)
  if (axis >= 0) wrong(`axis ${axis} has length ${shape[axis]}, but chunks of length 0`, chunkShape, undefined, axis)
}

const showCoord = ({ chunks: { rank, coords } }: ArrayMeta, index: number): string =>
  showShape([...coords.subarray(index * rank, (index + 1) * rank)])
