import { type DataOf, type DType, fillElement, readElement, type ScalarOf } from '../../core/dtype.ts'
import { HyperslabError, invalidArgument, within } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { checkShape, showShape, sizeOf } from '../../core/shape.ts'
import { fillTensor, viewTensor } from '../../core/tensor.ts'
import { type AxisChunks, ChunkGrid } from '../../grid/chunks.ts'
import { commonChunks, refineChunks } from '../../grid/derived-chunks.ts'
import { type Box, wholeBox } from '../../grid/range.ts'
import { isAnyMissing, type MissingElements, missingElement, missingElements, missingOf, NOTHING } from '../missing.ts'
import { sameMissing } from '../missing-test.ts'
import { type BlockSource, type BulkAccess, type Missing, type NamedValues, requestsOf } from '../source.ts'
import { jointBudget, leastElements } from './joint-budget.ts'
import type { Kind } from './layer.ts'
import { missingAs } from './missing-as.ts'
import { type Overlap, overlapOf } from './overlap.ts'
import { READS_AT_A_TIME } from './picks.ts'

/** An array and where its first element lies in the whole. */
export interface Tile<D extends DType = DType> {
  readonly origin: readonly number[]
  readonly source: BlockSource<D>
}

/** Options of `mosaic`. */
export interface MosaicOptions<D extends DType> {
  /** Shape of the whole; as far as tiles reach when left out. */
  readonly shape?: readonly number[]
  /**
   * The value of what no tile covers, and of everything that is missing. When left out it is what is missing
   * in the first tile that says so; without any it is the fill value of the first tile, or zero, and nothing
   * is missing.
   */
  readonly fillValue?: ScalarOf<D>
}

const CHECKS: Checks<MosaicOptions<DType>> = { shape: 'list', fillValue: 'value' }

/**
 * Tiles of any shapes put together; what none of them covers is the fill value and cannot be written. A tile
 * that is not touched is not read. Where tiles do not agree on what is missing, their missing elements become
 * one value.
 * @throws InvalidArgumentError when there are no tiles, they differ in type or rank, overlap, or reach beyond
 *   the shape; reading, for an element that is not missing in its tile and would be in the whole, unless
 *   `fillValue` was given
 */
export function mosaicSource<D extends DType>(tiles: readonly Tile<D>[], options: MosaicOptions<D> = {}): BlockSource<D> {
  checkOptions('mosaic', options, CHECKS)
  const first = tiles[0]?.source
  if (first === undefined) return invalidArgument('there are no tiles', tiles)
  const rank = first.shape.length
  for (const { source, origin } of tiles) {
    checkShape(origin, 'the origin of a tile')
    if (source.dtype !== first.dtype || source.shape.length !== rank || origin.length !== rank) {
      const named = ({ dtype, shape }: BlockSource): string => `${dtype} ${showShape(shape)}`
      invalidArgument(`a tile ${named(source)} at ${showShape(origin)} does not fit one of ${named(first)}`, named(source))
    }
  }
  const shape = options.shape ?? first.shape.map((_, axis) => Math.max(...tiles.map((tile) => endOf(tile, axis))))
  checkShape(shape, 'shape')
  checkPlaces(tiles, shape)
  return new Mosaic(...agreed(tiles, options.fillValue), shape)
}

/** The tiles with the same elements missing, and what fills the room between them. */
function agreed<D extends DType>(tiles: readonly Tile<D>[], fillValue: ScalarOf<D> | undefined): [readonly Tile<D>[], Kind<D>] {
  const { dtype, fillValue: own } = tiles[0]!.source
  const known = tiles.map(({ source }) => missingElements(source))
  const first = known.find(isAnyMissing)
  const as = (kind: Kind<D>, taken: boolean): [readonly Tile<D>[], Kind<D>] => {
    const wanted = missingElements(kind)
    const value = missingElement(wanted)!
    const changes = (each: MissingElements): boolean => (taken ? isAnyMissing(each) : true) && !sameMissing(each, wanted)
    return [
      tiles.map((tile, i) => (changes(known[i]!) ? { ...tile, source: missingAs(tile.source, value, { taken }) } : tile)),
      kind,
    ]
  }
  if (fillValue !== undefined) return as({ dtype, fillValue }, true)
  if (first === undefined) return [tiles, { dtype, fillValue: own, missing: NOTHING }]
  const fill = readElement(dtype, [missingElement(first)] as unknown as DataOf<D>, 0)
  if (known.every((each) => sameMissing(each, first)))
    return [tiles, { dtype, fillValue: fill, missing: missingOf(tiles[known.indexOf(first)]!.source) }]
  return as({ dtype, fillValue: fill }, false)
}

class Mosaic<D extends DType> implements BlockSource<D> {
  readonly tiles: readonly Tile<D>[]
  readonly dtype: D
  readonly shape: readonly number[]
  readonly chunks: ChunkGrid
  readonly dimensionNames: readonly string[] | undefined
  readonly fillValue: ScalarOf<D> | undefined
  readonly missing: Missing<D> | undefined
  readonly attrs: NamedValues | undefined
  readonly capabilities: { readonly steps: boolean }
  readonly maxElements: number | undefined
  readonly budget: BlockSource['budget']
  readonly label: NonNullable<BlockSource['label']>
  readonly bulk: BulkAccess<D>
  readonly writeBlock?: NonNullable<BlockSource<D>['writeBlock']>

  constructor(tiles: readonly Tile<D>[], { fillValue, missing }: Kind<D>, shape: readonly number[]) {
    const sources = tiles.map(({ source }) => source)
    this.tiles = tiles
    this.dtype = sources[0]!.dtype
    this.shape = shape
    this.chunks = new ChunkGrid(shape.map((length, axis) => chunksAlong(tiles, axis, length)))
    this.dimensionNames = sources.find(({ dimensionNames }) => dimensionNames !== undefined)?.dimensionNames
    this.fillValue = fillValue
    this.missing = missing
    this.attrs = sharedAttributes(sources)
    this.capabilities = { steps: sources.every(({ capabilities }) => capabilities?.steps) }
    this.maxElements = leastElements(sources)
    this.budget = jointBudget(sources)
    this.label = sharedLabel(sources)
    const bulk: BulkAccess<D> = {
      requests: (boxes) => {
        const touched = this.#byTile(boxes.map((box) => ({ box })))
        // Blocks may hold chunks of several arrays of a file.
        if (new Set(sources).size < sources.length) return undefined
        const files = new Set([...touched.keys()].map(({ label }) => label?.file))
        if (touched.size > 1 && (files.size < touched.size || files.has(undefined))) return undefined
        let sum: number | undefined = 0
        for (const [tile, parts] of touched) {
          const own = requestsOf(tile, parts.map(({ box }) => box)) // biome-ignore format: one line
          sum = own === undefined || sum === undefined ? undefined : sum + own
        }
        return sum
      },
      read: async (reads, options) => {
        const fill = fillElement(this.dtype, this.fillValue)
        for (const { box, out } of reads) if (!this.#touched(box).covered) fillTensor(out, fill)
        await forEachLimited(this.#byTile(reads), READS_AT_A_TIME, async ([tile, parts]) => {
          options?.signal?.throwIfAborted()
          const own = parts.map(({ read, box, outer }) => ({ box, out: viewTensor(read.out, outer) }))
          await within(tile.label ?? {}, async () => {
            if (tile.bulk?.read !== undefined) await tile.bulk.read(own, options)
            else for (const { box, out } of own) await tile.readBlock(box, out, options)
          })
        })
      },
      statistics: async (options) => (await import('./joined-statistics.ts')).joinedStatistics(this, this.tiles, options),
    }
    // Sources without their own are read faster box by box.
    const { requests } = bulk
    this.bulk = sources.every(({ bulk }) => bulk?.read !== undefined) ? bulk : { requests: requests! }
    if (sources.every(({ writeBlock }) => writeBlock !== undefined)) {
      this.writeBlock = async (box, values, options) => {
        const { touched, covered } = this.#touched(box)
        if (!covered) throw new HyperslabError('ReadOnlyError', 'there is no tile where this would be written', this.label)
        for (const { tile, box: part, outer } of touched)
          await within(tile.label ?? {}, async () => tile.writeBlock!(part, viewTensor(values, outer), options))
      }
    }
  }

  readBlock: BlockSource<D>['readBlock'] = async (box, out, options) => {
    const { touched, covered } = this.#touched(box)
    if (!covered) fillTensor(out, fillElement(this.dtype, this.fillValue))
    await forEachLimited(touched, READS_AT_A_TIME, async ({ tile, box: part, outer }) => {
      options?.signal?.throwIfAborted()
      await within(tile.label ?? {}, async () => tile.readBlock(part, viewTensor(out, outer), options))
    })
  }

  /** What some boxes take of each tile that they touch. */
  #byTile<R extends { readonly box: Box }>(reads: readonly R[]): Map<BlockSource<D>, (Overlap & { readonly read: R })[]> {
    const tiles = new Map<BlockSource<D>, (Overlap & { readonly read: R })[]>()
    for (const read of reads)
      for (const { tile, box, outer } of this.#touched(read.box).touched) {
        const parts = tiles.get(tile)
        if (parts === undefined) tiles.set(tile, [{ box, outer, read }])
        else parts.push({ box, outer, read })
      }
    return tiles
  }

  #touched(box: Box): { touched: (Overlap & { tile: BlockSource<D> })[]; covered: boolean } {
    const touched = this.tiles.flatMap(({ source, origin }) => {
      const overlap = overlapOf(box, origin, source.shape)
      return overlap === undefined ? [] : [{ ...overlap, tile: source }]
    })
    const elements = (views: readonly { readonly length: number }[]): number => sizeOf(views.map(({ length }) => length))
    const wanted = overlapOf(box, box.map(() => 0), this.shape)! // biome-ignore format: one line
    return { touched, covered: touched.reduce((sum, { outer }) => sum + elements(outer), 0) === elements(wanted.outer) }
  }
}

const endOf = ({ origin, source }: Tile, axis: number): number => origin[axis]! + source.shape[axis]!

/** Tiles in one row have the chunks that suit all of them; where rows overlap, all borders count. */
function chunksAlong(tiles: readonly Tile[], axis: number, length: number): AxisChunks {
  const rows = new Map<string, { origin: number; all: AxisChunks[] }>()
  for (const tile of tiles) {
    const origin = tile.origin[axis]!
    const key = `${origin} ${endOf(tile, axis)}`
    const chunks = tile.source.chunks.axes[axis]!
    const row = rows.get(key)
    if (row === undefined) rows.set(key, { origin, all: [chunks] })
    else row.all.push(chunks)
  }
  return refineChunks(
    length,
    [...rows.values()].map(({ origin, all }) => ({ origin, chunks: commonChunks(all) })),
  )
}

function sharedLabel(sources: readonly BlockSource[]): { file?: string; array?: string } {
  const shared = <T>(values: readonly (T | undefined)[]): T | undefined =>
    values.every((value) => value === values[0]) ? values[0] : undefined
  const file = shared(sources.map(({ label }) => label?.file))
  const array = shared(sources.map(({ label }) => label?.array))
  return { ...(file !== undefined && { file }), ...(file !== undefined && array !== undefined && { array }) }
}

/** Those of the first tile, where all have the same. */
function sharedAttributes(sources: readonly BlockSource[]): NamedValues | undefined {
  const first = sources[0]!.attrs
  if (first === undefined) return undefined
  const names = [...first.keys()]
  const alike = ({ attrs }: BlockSource): boolean => {
    if (attrs === first) return true
    return (
      attrs !== undefined &&
      [...attrs.keys()].length === names.length &&
      names.every((name) => isEqual(attrs.get(name), first.get(name)))
    )
  }
  return sources.every(alike) ? first : undefined
}

/** Whether attributes have the same value: lists do where their elements have. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  const [one, other] = [a, b] as ArrayLike<unknown>[]
  const areLists = [a, b].every((each) => ArrayBuffer.isView(each) || Array.isArray(each))
  return areLists && one!.length === other!.length && Array.from(one!).every((value, i) => Object.is(value, other![i]))
}

/** Sorted by the first axis, so that only near ones are compared. */
function checkPlaces(tiles: readonly Tile[], shape: readonly number[]): void {
  const beyond = tiles.find((tile) => shape.some((length, axis) => endOf(tile, axis) > length))
  if (beyond !== undefined)
    invalidArgument(
      `a tile ${showShape(beyond.source.shape)} at ${showShape(beyond.origin)} reaches beyond ${showShape(shape)}`,
      beyond.origin,
    )
  const sorted = tiles.filter(({ source }) => sizeOf(source.shape) > 0).sort((a, b) => (a.origin[0] ?? 0) - (b.origin[0] ?? 0))
  sorted.forEach((tile, i) => {
    const box = wholeBox(tile.source.shape).map(({ start, stop, step }, axis) => {
      const shift = tile.origin[axis]!
      return { start: start + shift, stop: stop + shift, step }
    })
    for (const other of sorted.slice(i + 1)) {
      if (shape.length > 0 && other.origin[0]! >= box[0]!.stop) return
      if (overlapOf(box, other.origin, other.source.shape) !== undefined)
        invalidArgument(`tiles at ${showShape(tile.origin)} and ${showShape(other.origin)} overlap`, other.origin)
    }
  })
}
