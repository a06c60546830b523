import type { ArrayFile } from '../af/file.ts'
import type { FileArray } from '../af/file-array.ts'
import { Paths } from '../af/layers/paths.ts'
import { besideText } from '../af/layers/stack.ts'
import { isHyperslabError } from '../core/errors.ts'
import { type AttributeValue, open, type Statistics } from '../runtime/index.ts'
import { type Location, resolveLocation } from '../tree/location.ts'
import { decodedStatistics } from './decoded-statistics.ts'
import type { ArrayDescription, Description } from './description.ts'
import { oneLine } from './failure.ts'
import { decodedVariable, type RawOption, shownAs } from './labelled.ts'
import type { ReadingOptions } from './options.ts'
import { printError } from './output.ts'
import type { Place, PlaceContents, PlacedArray } from './place.ts'

export class ContainerPlace implements Place {
  readonly location: string
  readonly #file: ArrayFile
  readonly #findBeside: () => Promise<string[]>

  /** @param findBeside looks for files that opening did not look for. They count for nothing */
  constructor(file: ArrayFile, findBeside: () => Promise<string[]> = async () => []) {
    this.location = file.location
    this.#file = file
    this.#findBeside = findBeside
  }

  async array(name: string): Promise<PlacedArray> {
    return { name, array: this.#file.array(name) }
  }

  async arraysBeside(): Promise<readonly PlacedArray[]> {
    return (await this.contents()).arrays
  }

  async contents(): Promise<PlaceContents> {
    const arrays: PlacedArray[] = []
    const leftOut: string[] = []
    for (const name of this.#file.arrays()) {
      try {
        arrays.push({ name, array: this.#file.array(name) })
      } catch (error) {
        // Arrays of nested types cannot be read.
        if (!isHyperslabError(error, 'UnsupportedError')) throw error
        leftOut.push(error.message)
      }
    }
    return { arrays, groups: new Map([['', this.#file.attrs]]), leftOut }
  }

  async describe({ raw = false }: RawOption): Promise<Description> {
    const file = this.#file
    for (const warning of await this.#findBeside()) printError(`warning: ${oneLine(warning)}`)
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
      const values = await orProblem(() => describeValues({ name, array }, raw, () => file.stats(name)))
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
        statistics: values?.statistics,
        valueType: values?.valueType ?? array.dtype,
        fillValue: array.fillValue,
        missing: array.missing,
        attributes: attributesOf(array.attrs),
      })
    }
    const nothing = { groups: [], pyramids: [], unreadable: [] }
    const attributes = attributesOf(file.attrs)
    return { file: file.location, format: 'container', arrays, attributes, layers: file.layers(), problems, ...nothing }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file.close()
  }
}

/**
 * Returns what is known about the values of an array. If times cannot be decoded, it describes the stored
 * numbers.
 */
async function describeValues(
  placed: PlacedArray,
  raw: boolean,
  known: () => Promise<Statistics>,
): Promise<Pick<ArrayDescription, 'statistics' | 'valueType'>> {
  const stored = async () => ({ statistics: await known(), valueType: placed.array.dtype })
  if (raw) return stored()
  try {
    const decoded = decodedVariable(placed)
    const statistics = await decodedStatistics(placed, decoded, known)
    const { dates } = shownAs(decoded, {})
    const show = (value: unknown): unknown => (value === undefined || dates === undefined ? value : dates.show(value))
    const valueType = dates === undefined ? decoded.array.dtype : 'date'
    return { statistics: statistics && { ...statistics, min: show(statistics.min), max: show(statistics.max) }, valueType }
  } catch (error) {
    if (isHyperslabError(error, 'UnsupportedError')) return stored()
    throw error
  }
}

const attributesOf = (attrs: FileArray['attrs']): Map<string, AttributeValue> =>
  new Map([...attrs.keys()].map((name) => [name, attrs.typed(name)!]))

/**
 * Opens a container for reading, and prints warnings about uncertain content of its files on standard error.
 */
export async function openContainer(location: Location, layer: number | undefined, reading: ReadingOptions = {}): Promise<Place> {
  const file = await open(location, { ...reading, ...(layer !== undefined && { layer }) })
  for (const warning of file.warnings()) printError(`warning: ${oneLine(warning)}`)
  const isImmutable = file.layers()[0]!.version === 6
  return new ContainerPlace(file, isImmutable ? () => findUnlisted(location, reading) : undefined)
}

/**
 * Looks for a sidecar beside a file of footer version 6 in a place that cannot be listed. Returns the warning
 * about it. In other places opening the file has found it.
 */
async function findUnlisted(location: Location, reading: ReadingOptions): Promise<string[]> {
  const { store, path } = await resolveLocation(location, reading)
  try {
    if (store.list !== undefined || store.seesOneFile) return []
    const sidecar = new Paths(path).sidecar(1)
    if ((await store.stat(sidecar)) === undefined) return []
    return [`${store.describe(sidecar)}: ${besideText({ immutable: true })}`]
  } catch (error) {
    // A server that refuses to tell hides no data: nothing of a sidecar would be read.
    if (isHyperslabError(error)) return []
    throw error
  } finally {
    await store.close?.()
  }
}
