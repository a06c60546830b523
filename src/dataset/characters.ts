import { DiskArray } from '../array/disk-array.ts'
import { deriveSource } from '../array/lazy/derive.ts'
import { NOTHING } from '../array/missing.ts'
import type { BlockSource } from '../array/source.ts'
import { decodeText } from '../core/characters.ts'
import { sizeOf } from '../core/shape.ts'
import { copyTensor, tensorOf } from '../core/tensor.ts'
import { ChunkGrid } from '../grid/chunks.ts'
import { boxShape } from '../grid/range.ts'

/**
 * Returns an array of single bytes as text, lazily. The bytes may be texts of one byte each, which are that
 * byte in Latin-1.
 * @param joins whether the last axis is the length of texts, so that the result does not have it
 */
export function asCharacters({ source }: DiskArray, joins: boolean): DiskArray {
  const width = joins ? source.shape.at(-1)! : 1
  const readBlock: BlockSource<'string'>['readBlock'] = async (box, out, options) => {
    const shape = boxShape(box)
    const texts = new Array<string>(sizeOf(shape)).fill('')
    if (width > 0) {
      const bytes = tensorOf(source.dtype as 'binary' | 'string', joins ? [...shape, width] : shape)
      const below = joins ? [...box, { start: 0, stop: width, step: 1 }] : box
      await (source as BlockSource<'binary' | 'string'>).readBlock(below, bytes, options)
      const list = bytes.data as ArrayLike<Uint8Array | string>
      for (let i = 0; i < texts.length; i++)
        texts[i] = decodeText(
          Uint8Array.from({ length: width }, (_, at) => toByte(list[i * width + at]!)),
          source.attrs?.get('_Encoding'),
        )
    }
    copyTensor(tensorOf('string', shape, texts), out)
  }
  const chunks = joins ? new ChunkGrid(source.chunks.axes.slice(0, -1)) : source.chunks
  const dimensionNames = joins ? source.dimensionNames?.slice(0, -1) : source.dimensionNames
  const kind = { dtype: 'string' as const, fillValue: '', missing: NOTHING, attrs: source.attrs }
  return new DiskArray(deriveSource(source, { readBlock, chunks, dimensionNames, write: false }, kind)) as DiskArray
}

const toByte = (element: Uint8Array | string): number =>
  typeof element === 'string' ? element.charCodeAt(0) || 0 : (element[0] ?? 0)
