import type { Progress } from '../../array/transfers.ts'
import { isUnreadable, nodesBelow } from '../../array/walk.ts'
import { decodeWith, inKernel } from '../../codec/codec.ts'
import { elementBytes, isFixed } from '../../core/dtype.ts'
import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import type { Checks } from '../../core/options.ts'
import { Pace } from '../../core/pace.ts'
import { sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import { type ChunkAddress, checkBlockBytes } from '../../engine/block.ts'
import { decodeChunk } from '../../engine/chunk-values.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { withArena } from '../../kernels/arena.ts'
import { readWhole } from '../../store/whole.ts'
import { parseChunkName } from './chunk-names.ts'
import type { ZarrArray, ZarrGroup } from './group.ts'
import type { OpenZarrOptions } from './open.ts'
import { planChunks } from './shards.ts'
import { storedGrid } from './stored-grid.ts'
import { compareConsolidated } from './verify-consolidated.ts'

/** Options of `verifyZarr`. */
export interface VerifyNodeOptions {
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
  /** Receives the progress after each step. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

export const VERIFY_CHECKS: Checks<VerifyNodeOptions> = { signal: 'AbortSignal', onProgress: 'function' }

/** A problem in a Zarr store. `text` describes it in a sentence. */
export interface ZarrFinding {
  /** `'error'`: something cannot be read, or is damaged. `'warning'`: something was left behind. */
  readonly severity: 'error' | 'warning'
  /** The object or the location, as messages name it. */
  readonly file: string
  /** Path of the array. */
  readonly array?: string | undefined
  /** Position of the chunk along each axis of the grid. */
  readonly chunk?: readonly number[] | undefined
  readonly text: string
}

/** Counts of checked items: `groups`, `arrays`, chunks and bytes. */
export interface ZarrChecked {
  groups: number
  /** Arrays that can be opened. */
  arrays: number
  /** Chunks that are stored. */
  chunks: number
  /** Chunks that are not stored, and contain only the fill value. */
  missingChunks: number
  /** Chunks without a checksum. Changed bytes in them are found only if they do not decode. */
  chunksWithoutChecksum: number
  /** Bytes of the chunks, as stored. */
  bytes: number
}

/** Report of `verifyZarr`: its `findings`, and the items that it `checked`. */
export interface ZarrVerification {
  /** Whether no finding is an error. */
  readonly ok: boolean
  readonly findings: readonly ZarrFinding[]
  /** Number of findings beyond the first thousand. */
  readonly omitted: number
  readonly checked: Readonly<ZarrChecked>
}

const MAX_FINDINGS = 1000
/** Limits of the decoded chunks that are checked at once, by count and bytes. */
const CHUNKS_AT_ONCE = 32
const BYTES_AT_ONCE = 128 * 1024 * 1024
/** Assumed bytes of a chunk whose decoded size is unknown. */
const UNKNOWN_BYTES = 4 * 1024 * 1024
/** Maximum number of an array's objects for which listed objects are compared with the grid. */
const MOST_LISTED = 2 ** 20

const CHECKSUMS: ReadonlySet<string> = new Set(['crc32c', 'crc32', 'adler32', 'fletcher32', 'gzip', 'zlib'])

type FindingPlace = Pick<ZarrFinding, 'file' | 'array' | 'chunk'>

/** Collects findings. */
class ZarrReport {
  readonly findings: ZarrFinding[] = []
  omitted = 0
  errors = 0
  readonly checked: ZarrChecked = { groups: 0, arrays: 0, chunks: 0, missingChunks: 0, chunksWithoutChecksum: 0, bytes: 0 }

  add(finding: ZarrFinding): void {
    if (finding.severity === 'error') this.errors++
    if (this.findings.length < MAX_FINDINGS) this.findings.push(finding)
    else this.omitted++
  }

  /** Reports an error that means damage. Throws other errors, such as those of a store or an abort. */
  take(place: FindingPlace, error: unknown): void {
    if (!isUnreadable(error) && !isHyperslabError(error, 'IntegrityError')) throw error
    const { file, array } = error.details
    let text = error.message
    // The finding has these parts as fields.
    for (const part of [file, array === undefined ? undefined : `array '${array}'`])
      if (part !== undefined && text.startsWith(`${part}: `)) text = text.slice(part.length + 2)
    this.add({ severity: 'error', ...place, file: file ?? place.file, text })
  }

  /** Sorts findings by chunk, because several chunks are checked at once. */
  sort(from: number): void {
    const found = this.findings.splice(from)
    const order = (a: readonly number[], b: readonly number[]): number => {
      const axis = a.findIndex((k, i) => k !== b[i])
      return axis < 0 ? 0 : a[axis]! - b[axis]!
    }
    this.findings.push(...found.sort((a, b) => order(a.chunk ?? [], b.chunk ?? [])))
  }

  result(): ZarrVerification {
    return { ok: this.errors === 0, findings: this.findings, omitted: this.omitted, checked: this.checked }
  }
}

/**
 * Checks all nodes at and below a location: their metadata, consolidated metadata against those of each node,
 * and every stored chunk, which is read and decoded once. If the store lists, also finds other objects among
 * the chunks of arrays with up to 2^20 objects.
 * @param file name of the location in the report
 * @param open opens the location. Called once more to compare consolidated metadata
 * @throws the errors of `nodesBelow`; errors of the store
 */
export async function verifyNode(
  file: string,
  open: (apart?: Pick<OpenZarrOptions, 'consolidated'>) => Promise<ZarrGroup | ZarrArray>,
  { signal, onProgress }: VerifyNodeOptions,
): Promise<ZarrVerification> {
  const report = new ZarrReport()
  let root: ZarrGroup | ZarrArray
  try {
    root = await open()
  } catch (error) {
    report.take({ file }, error)
    return report.result()
  }
  try {
    const tree = await nodesBelow<ZarrArray, ZarrGroup>(root)
    const { groups, arrays, unreadable } = tree
    for (const [array, error] of unreadable) report.take({ file, array }, error)
    report.checked.groups = groups.length
    report.checked.arrays = arrays.length
    if (groups.some(({ consolidated }) => consolidated)) {
      await using apart = await open({ consolidated: false })
      for (const finding of await compareConsolidated(tree, apart)) report.add({ ...finding, file })
    }
    // All arrays belong to one store.
    const settle = arrays[0]?.index.opened.absences.begin()
    // All fields of a structure are stored in the same chunks.
    const stored = [...new Map(arrays.map((array) => [array.index.path, array])).values()]
    const total = stored.reduce((sum, { chunks }) => sum + chunks.count, 0)
    let done = 0
    const onChunk = (): void => onProgress?.({ done: ++done, total })
    for (const array of stored) {
      const check = new ArrayCheck(array, report, signal)
      await check.chunks(onChunk)
      await check.strays()
    }
    await settle?.(signal)
    return report.result()
  } finally {
    await root.close()
  }
}

/** Check of the chunks of one array. */
class ArrayCheck {
  readonly #array: ZarrArray
  readonly #report: ZarrReport
  readonly #signal: Signal | undefined
  readonly #pace: Pace
  /** Grid of the objects, which are shards or chunks. */
  readonly #objects: ChunkGrid
  readonly #isSharded: boolean
  readonly #hasChecksum: boolean
  /** Keys of shards whose index cannot be read. */
  readonly #broken = new Set<string>()
  /** Keys of objects with a warning. */
  readonly #strays = new Set<string>()

  constructor(array: ZarrArray, report: ZarrReport, signal: Signal | undefined) {
    const { metadata } = array
    const { objects, levels, codecs } = planChunks(metadata)
    this.#array = array
    this.#report = report
    this.#signal = signal
    this.#pace = new Pace(signal)
    this.#objects = storedGrid(metadata.shape, objects)
    this.#isSharded = levels.length > 0
    this.#hasChecksum = codecs.some(({ name, configuration }) => CHECKSUMS.has(name) || configuration.checksum === true)
  }

  async chunks(onChunk: () => void): Promise<void> {
    const { stored } = this.#array.index
    const before = this.#report.findings.length
    const largest = sizeOf(stored.grid.chunkShape)
    const bytes = isFixed(stored.dtype) ? largest * elementBytes(stored.dtype) : UNKNOWN_BYTES
    const atOnce = Math.max(1, Math.min(CHUNKS_AT_ONCE, Math.floor(BYTES_AT_ONCE / bytes)))
    await forEachLimited(chunksByObject(this.#objects, stored.grid), atOnce, async (chunkIndex) => {
      if (this.#pace.due()) await this.#pace.turn()
      this.#signal?.throwIfAborted()
      await this.#chunk(chunkIndex)
      onChunk()
    })
    this.#signal?.throwIfAborted()
    this.#report.sort(before)
  }

  async #chunk(chunkIndex: number): Promise<void> {
    const { index, path } = this.#array
    const { key, shape } = index.stored.placeOf(chunkIndex)
    const { checked } = this.#report
    const place = { file: index.opened.store.describe(key), array: path }
    if (this.#broken.has(key)) return
    let address: ChunkAddress | undefined
    try {
      const snapshot = (await index.load?.([chunkIndex], this.#signal)) ?? index.snapshot()
      address = snapshot.locate(chunkIndex) as ChunkAddress | undefined
    } catch (error) {
      if (this.#broken.has(key)) return
      this.#report.take(place, error)
      this.#broken.add(key)
      return
    }
    try {
      const bytes = address && (await this.#read(key, address))
      if (address === undefined || bytes === undefined) {
        checked.missingChunks++
        return
      }
      checked.chunks++
      checked.bytes += bytes.length
      if (!this.#hasChecksum) checked.chunksWithoutChecksum++
      await this.#decode(bytes, address, sizeOf(shape))
    } catch (error) {
      this.#report.take({ ...place, chunk: index.stored.grid.index(chunkIndex) }, error)
    }
  }

  /** Reads the bytes of a chunk; returns undefined if it is an object that is not stored. */
  async #read(key: string, { block }: ChunkAddress): Promise<Uint8Array | undefined> {
    const { opened } = this.#array.index
    checkBlockBytes(block, block.uncompressedBytes, opened.options.blockBytes)
    if (this.#isSharded) return block.origin.read(block.fileOffset, block.compressedBytes, this.#signal)
    const found = await readWhole(opened.store, key, {
      signal: this.#signal,
      maxBytes: opened.options.blockBytes,
      onUnproved: opened.absences.onUnproved,
    })
    if (found?.bytes.length === 0) throw new HyperslabError('CodecError', 'the chunk is an object without bytes')
    return found?.bytes
  }

  async #decode(bytes: Uint8Array, { block }: ChunkAddress, count: number): Promise<void> {
    const { codecs, dtype } = this.#array.index
    const codec = codecs.find(block.codec)
    if (inKernel(codec)) {
      withArena((arena) => codec.decodeIn(arena, arena.put(bytes), bytes.length, block.uncompressedBytes))
      return
    }
    const decoded = await decodeWith(codec, bytes, block.uncompressedBytes)
    if (!isFixed(dtype)) decodeChunk(dtype, decoded, count)
  }

  /** Reports objects among the chunks that are not chunks. */
  async strays(): Promise<void> {
    const { opened, path } = this.#array.index
    if (opened.store.list === undefined || this.#objects.count > MOST_LISTED) return
    const root = path === '' ? '' : `${path}/`
    await this.#strayIn(root, root)
  }

  /** @returns whether any key has this prefix */
  async #strayIn(root: string, prefix: string): Promise<boolean> {
    const { store } = this.#array.index.opened
    // Some stores list the content of subfolders, too.
    const keys = await store.list!(prefix, { signal: this.#signal, shallow: true }).catch((error: unknown) => {
      // The key is a file, not a folder.
      if (isHyperslabError(error, 'NotFoundError')) return []
      throw error
    })
    for (const key of keys) {
      if (this.#pace.due()) await this.#pace.turn()
      const name = key.slice(root.length)
      if (/^(zarr\.json|\.z(array|attrs|group|metadata))$/.test(name) || name.startsWith('.hyperslab-')) continue
      const chunk = parseChunkName(this.#array.metadata, name)
      if (chunk !== undefined && this.#isInGrid(chunk)) continue
      if ((await this.#strayIn(root, key.endsWith('/') ? key : `${key}/`)) || !(await this.#isObject(key))) continue
      if (this.#strays.has(key)) continue
      this.#strays.add(key)
      const text =
        chunk === undefined
          ? 'nothing of the array is called so'
          : `chunk [${chunk.join(', ')}] lies beyond the grid of [${this.#objects.counts.join(', ')}]`
      this.#report.add({ severity: 'warning', file: store.describe(key), array: this.#array.path, text })
    }
    return keys.length > 0
  }

  /** Whether a key is an object. Folders may be empty. */
  async #isObject(key: string): Promise<boolean> {
    try {
      return (await this.#array.index.opened.store.stat(key, { signal: this.#signal })) !== undefined
    } catch (error) {
      if (isHyperslabError(error, 'FormatError', 'UnsupportedError')) return false
      throw error
    }
  }

  #isInGrid(coords: readonly number[]): boolean {
    return coords.every((k, axis) => k < this.#objects.counts[axis]!)
  }
}

/** Yields the indices of all chunks, those of one object after another. */
function* chunksByObject(objects: ChunkGrid, chunks: ChunkGrid): Generator<number, void> {
  for (let object = 0; object < objects.count; object++) {
    const ranges = objects.index(object).map((k, axis) => {
      const [of, own] = [objects.axes[axis]!, chunks.axes[axis]!]
      return { first: own.find(of.start(k)), last: own.find(of.stop(k) - 1) }
    })
    const coords = ranges.map(({ first }) => first)
    for (;;) {
      yield chunks.chunkIndex(coords)
      let axis = coords.length - 1
      while (axis >= 0 && coords[axis] === ranges[axis]!.last) coords[axis] = ranges[axis--]!.first
      if (axis < 0) break
      coords[axis]!++
    }
  }
}
