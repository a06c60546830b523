import { newNodes } from '../adapters/zarr/create.ts'
import { openNode, rootOf } from '../adapters/zarr/open.ts'
import { attributesDocument, groupDocument } from '../adapters/zarr/write/document.ts'
import { type NewZarrArray, newArray } from '../adapters/zarr/write/new-array.ts'
import type { DiskArray } from '../array/disk-array.ts'
import { type Element, missingElement, missingElements } from '../array/missing.ts'
import { bytesOf } from '../array/source.ts'
import type { Progress } from '../array/transfers.ts'
import { largestDivisor } from '../core/divisors.ts'
import { readElement } from '../core/dtype.ts'
import { HyperslabError, messageOf, rethrowWithin, within } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import { ChunkGrid } from '../grid/chunks.ts'
import { type Location, resolveLocation } from './location.ts'

/** Size that chunks have where nothing says otherwise. */
const CHUNK_BYTES = 4 * 1024 * 1024

/** An array that is to be written. */
export interface ExportedArray {
  readonly name: string
  /** As it is stored. */
  readonly array: DiskArray
  /** One for each axis. */
  readonly dimensionNames: readonly string[]
  /** Lengths of its chunks, unless the options have others. */
  readonly chunkShape?: readonly number[] | undefined
  /** What stands for missing elements. */
  readonly fill?: Element | undefined
  /** Bytes of it that are held at a time, unless a shard has more. */
  readonly maxBytes?: number
  readonly attributes: ReadonlyMap<string, unknown>
}

/** All that is to be written. */
export interface ZarrExport {
  readonly attributes: ReadonlyMap<string, unknown>
  readonly arrays: readonly ExportedArray[]
}

/** Options of writing Zarr. */
export interface ExportOptions {
  readonly codec?: string | undefined
  readonly level?: number | undefined
  /** Lengths of chunks along dimensions, by name. */
  readonly chunks?: Readonly<Record<string, number>> | undefined
  /** Lengths of shards along dimensions; along others a shard is a chunk long. */
  readonly shards?: Readonly<Record<string, number>> | undefined
  readonly overwrite?: boolean | undefined
  readonly signal?: Signal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/**
 * Writes a group of version 3 with some arrays. Its own metadata, with those of all arrays, come last: before
 * there is no group. What was written is removed after an error.
 * @throws AlreadyExistsError unless `overwrite` is set: then what is there goes first; ReadOnlyError;
 *   InvalidArgumentError for options that do not fit; errors of the store, and of reading the arrays
 */
export async function exportZarr(source: ZarrExport, target: Location, options: ExportOptions): Promise<void> {
  const { store, path } = await resolveLocation(target)
  const { overwrite = false, signal } = options
  const root = rootOf(path)
  const file = store.describe(root)
  try {
    await within({ file }, async () => {
      checkDimensions(source, options)
      const planned = source.arrays.map((each) => ({ ...each, ...plannedArray(each, options) }))
      const nodes = newNodes(store, root)
      if ((await nodes.node('')) !== undefined) {
        if (!overwrite) throw new HyperslabError('AlreadyExistsError', 'there is a Zarr array or group already')
        await nodes.remove('')
      }
      // After an error all that is there goes: it must be ours.
      const [other] = await store.list!(root === '' ? '' : `${root}/`)
      if (other !== undefined) {
        const text = `the folder holds something else already, such as '${other.split('/').at(-1) || other}'; choose another one, or empty it`
        throw new HyperslabError('AlreadyExistsError', text, { actual: other })
      }
      try {
        let done = 0
        const total = planned.reduce((sum, { count }) => sum + count, 0)
        for (const { name, array, content, count, maxBytes } of planned) {
          await nodes.create(name, content)
          const to = (await openNode(store, root === '' ? name : `${root}/${name}`, { mode: 'r+', kind: 'array' })) as DiskArray
          const onProgress = ({ done: own }: Progress): void => options.onProgress?.({ done: done + own, total })
          const held = maxBytes === undefined ? {} : { maxBytes }
          await array.rechunkTo(to, { ...held, signal, onProgress })
          done += count
        }
        signal?.throwIfAborted()
        const members = Object.fromEntries(planned.map(({ name, content }) => [name, content]))
        await nodes.createRoot(groupDocument(attributesDocument(plain(source.attributes)), members), false)
      } catch (error) {
        await nodes.remove('').catch((left: unknown) => {
          const text = `${messageOf(error)}; what was written could not be removed: ${messageOf(left)}`
          throw new HyperslabError('StoreError', text, { cause: new AggregateError([error, left]) })
        })
        throw error
      }
    })
  } finally {
    await store.close?.()
  }
}

/** Attributes without the types that containers have them in. */
const plain = (attributes: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> =>
  new Map(Array.from(attributes, ([name, value]) => [name, isTyped(value) ? value.value : value]))

const isTyped = (value: unknown): value is { readonly value: unknown } =>
  typeof value === 'object' && value !== null && Object.keys(value).sort().join() === 'type,value'

/** @throws InvalidArgumentError for lengths along dimensions that there are not */
function checkDimensions({ arrays }: ZarrExport, options: ExportOptions): void {
  const known = new Set(arrays.flatMap(({ dimensionNames }) => dimensionNames))
  for (const option of ['chunks', 'shards'] as const)
    for (const [name, length] of Object.entries(options[option] ?? {})) {
      const details = { actual: known.has(name) ? length : name, expected: [...known] }
      if (!known.has(name)) {
        const text = `${option}: there is no dimension '${name}'; there are ${[...known].join(', ') || 'none'}`
        throw new HyperslabError('InvalidArgumentError', text, details)
      }
      if (!Number.isSafeInteger(length) || length < 1)
        throw new HyperslabError(
          'InvalidArgumentError',
          `${option}: lengths are integers from 1, got ${length} for '${name}'`,
          details,
        )
    }
}

/** The metadata of an array, and the number of its chunks. */
function plannedArray(
  { array, dimensionNames, chunkShape, fill, attributes, name }: ExportedArray,
  { codec = 'zstd', level, chunks = {}, shards = {} }: ExportOptions,
): { readonly content: ReturnType<typeof newArray>['content']; readonly count: number } {
  const { dtype, shape } = array
  const usual = chunkShape ?? ChunkGrid.estimate(shape, bytesOf(dtype), CHUNK_BYTES).chunkShape
  const isSharded = dimensionNames.some((dim) => shards[dim] !== undefined)
  const lengths = shape.map((length, axis): readonly [chunk: number, shard: number] => {
    const most = Math.max(1, length)
    const [given, shard] = [chunks[dimensionNames[axis]!], shards[dimensionNames[axis]!]]
    const own = Math.min(given ?? Math.max(1, usual[axis]!), most)
    if (shard === undefined) return [own, own]
    // A shard that is as long as the array need not be longer than its chunks.
    if (shard >= most) return [own, Math.ceil(most / own) * own]
    const chunk = given ?? largestDivisor(shard, own)
    return [chunk, shard]
  })
  const chunkLengths = lengths.map(([chunk]) => chunk)
  const missing = fill ?? missingElement(missingElements(array.source))
  const own = plain(attributes)
  // Programs that read what is missing go by the attribute; of times it is what is no time.
  const isTold = missing === undefined || own.has('_FillValue') || dtype === 'timestamp_ns'
  const fillValue = missing === undefined ? undefined : readElement(dtype, [missing] as never, 0)
  const { content } = withArray(name, () =>
    newArray(
      {
        dtype,
        shape,
        chunks: chunkLengths,
        ...(isSharded && { shards: lengths.map(([, shard]) => shard) }),
        codec: level === undefined ? codec : { name: codec, configuration: { level } },
        ...(fillValue !== undefined && { fillValue }),
        dimensionNames,
        attributes: (isTold ? own : new Map([...own, ['_FillValue', fillValue]])) as NewZarrArray['attributes'],
      },
      [],
    ),
  )
  return { content, count: ChunkGrid.regular(shape, chunkLengths).count }
}

function withArray<T>(array: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    return rethrowWithin(error, { array })
  }
}
