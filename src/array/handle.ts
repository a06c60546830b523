import { checkDType, type DType, type ScalarOf } from '../core/dtype.ts'
import { type ErrorDetails, HyperslabError, rethrowWithin } from '../core/errors.ts'
import { Printable } from '../core/inspect.ts'
import { checkOptions, checkValue } from '../core/options.ts'
import { checkShape, sameShape, showShape, sizeOf } from '../core/shape.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import { missingElements, missingOf } from './missing.ts'
import {
  type BlockSource,
  ESTIMATE_CHECKS,
  type EstimateOptions,
  gridOf,
  type Missing,
  type NamedValues,
  type SourceLike,
} from './source.ts'

/** What there is to know of an array without reading it. */
export abstract class ArrayHandle<D extends DType> extends Printable {
  readonly source: BlockSource<D>

  /**
   * @param source a backend; its `chunks` may be a chunk shape, or missing
   * @param options for estimating chunks that are missing
   * @throws InvalidArgumentError for what is no source, and for a grid of another shape
   */
  constructor(source: SourceLike<D>, options?: EstimateOptions) {
    super()
    checkValue('DiskArray', 'source', source, 'object')
    checkValue('DiskArray', 'readBlock', source.readBlock, 'function')
    checkDType(source.dtype)
    checkShape(source.shape, 'shape')
    checkOptions('DiskArray', options, ESTIMATE_CHECKS)
    const chunks = gridOf(source, options)
    if (!sameShape(chunks.shape, source.shape)) {
      throw new HyperslabError(
        'InvalidArgumentError',
        `the chunk grid covers ${showShape(chunks.shape)}, the array is ${showShape(source.shape)}`,
        { ...source.label, actual: chunks.shape, expected: source.shape },
      )
    }
    if (source.missing !== undefined) missingElements(source)
    this.source = source.chunks === chunks ? (source as BlockSource<D>) : withChunks(source, chunks)
  }

  get dtype(): D {
    return this.source.dtype
  }

  get shape(): readonly number[] {
    return this.source.shape
  }

  get chunks(): ChunkGrid {
    return this.source.chunks
  }

  get dimensionNames(): readonly string[] | undefined {
    return this.source.dimensionNames
  }

  /** What elements nobody wrote read as; undefined where that is zero, and not missing. */
  get fillValue(): ScalarOf<D> | undefined {
    return this.source.fillValue
  }

  /** Which elements are missing. Of containers these are the ones that equal the fill value. */
  get missing(): Missing<D> {
    return missingOf(this.source)
  }

  /**
   * What is said of the elements; undefined where nothing is. Views, permutations, other chunks and caches of
   * an array have its attributes, arrays put together those that all of them have alike, arrays that are
   * computed have none.
   */
  get attrs(): NamedValues | undefined {
    return this.source.attrs
  }

  /** Number of elements. */
  get size(): number {
    return sizeOf(this.shape)
  }

  /**
   * Class, name, type, shape and chunks: `FileArray { 'tas', float32 [12, 180], chunks [1, 180] }`; never
   * reads data.
   */
  override toString(): string {
    const { array } = this.source.label ?? {}
    const names = this.dimensionNames === undefined ? '' : ` (${this.dimensionNames.join(', ')})`
    const facts = `${this.dtype} ${showShape(this.shape)}${names}, chunks ${showShape(this.chunks.chunkShape)}`
    return `${this.constructor.name} { ${array === undefined ? '' : `'${array}', `}${facts} }`
  }

  /** Errors of planning name this array. */
  protected named<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      return rethrowWithin(error, (this.source.label ?? {}) as ErrorDetails)
    }
  }
}

/** What a source may say and do. */
const FACTS = 'dtype shape dimensionNames fillValue missing attrs capabilities budget maxElements label bulk'.split(' ')
const ABILITIES = ['readBlock', 'writeBlock']

function withChunks<D extends DType>(source: SourceLike<D>, chunks: ChunkGrid): BlockSource<D> {
  const own = source as unknown as Record<string, (() => unknown) | undefined>
  const given = (names: string[]): string[] => names.filter((name) => own[name] !== undefined)
  return {
    ...Object.fromEntries(given(FACTS).map((name) => [name, own[name]])),
    ...Object.fromEntries(given(ABILITIES).map((name) => [name, own[name]!.bind(source)])),
    chunks,
  } as unknown as BlockSource<D>
}
