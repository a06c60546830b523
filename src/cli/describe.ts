import type { FileArray } from '../af/file-array.ts'
import { isHyperslabError } from '../core/errors.ts'
import type { ArrayFile, AttributeValue, LayerInfo, Statistics } from '../runtime/index.ts'
import { physical, type RawOption } from './physical.ts'

export interface ArrayDescription {
  readonly name: string
  readonly dtype: string
  readonly shape: readonly number[]
  readonly dimensionNames: readonly string[]
  readonly chunkShape: readonly number[]
  readonly chunks: number
  readonly storedChunks: number
  readonly bytes: number
  readonly compressedBytes: number
  /** Of the values as `valueType`, which those that are stored stand for. */
  readonly statistics: Statistics | undefined
  readonly valueType: string
  readonly fillValue: unknown
  readonly attributes: ReadonlyMap<string, AttributeValue>
}

export interface Description {
  readonly file: string
  readonly arrays: readonly ArrayDescription[]
  readonly attributes: ReadonlyMap<string, AttributeValue>
  readonly layers: readonly LayerInfo[]
  /** What could not be told, one line each. */
  readonly problems: readonly string[]
}

/** Everything about a container but its data, which is read only where statistics are not stored. */
export async function describe(file: ArrayFile, raw: RawOption = {}): Promise<Description> {
  const problems: string[] = []
  const orProblem = async <T>(work: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      problems.push(error.message)
      return undefined
    }
  }
  const arrays: ArrayDescription[] = []
  for (const name of file.arrays()) {
    const array = await orProblem(() => file.array(name))
    if (array === undefined) continue
    const storage = array.storage()
    const shown = await orProblem(() => physical(array, raw))
    arrays.push({
      name,
      dtype: array.dtype,
      shape: array.shape,
      dimensionNames: array.dimensionNames ?? [],
      chunkShape: array.chunks.chunkShape,
      chunks: array.chunks.count,
      storedChunks: storage.chunks,
      bytes: storage.uncompressedBytes,
      compressedBytes: storage.compressedBytes,
      statistics: shown && (await orProblem(() => shown.statistics(file))),
      valueType: shown?.array.dtype ?? array.dtype,
      fillValue: array.fillValue,
      attributes: attributesOf(array.attrs),
    })
  }
  return { file: file.location, arrays, attributes: attributesOf(file.attrs), layers: file.layers(), problems }
}

const attributesOf = (attrs: FileArray['attrs']): Map<string, AttributeValue> =>
  new Map([...attrs.keys()].map((name) => [name, attrs.typed(name)!]))
