import { checkDType, type DType } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { checkShape, sameShape, showShape } from '../core/shape.ts'
import { deriveSource } from './lazy/derive.ts'
import { missingElements } from './missing.ts'
import { type BlockSource, gridOf, SCALAR_CHECKS, type SourceLike, type SourceOptions, scalarReadsOf } from './source.ts'

const SOURCE_CHECKS: Checks<SourceOptions> = {
  ...SCALAR_CHECKS,
  defaultChunkBytes: 'number from 0',
  elementBytes: 'number from 0',
}

/**
 * Checks a source, and adds its grid and the rule for reads of single elements.
 * @throws InvalidArgumentError for an invalid source, or a grid of another shape
 */
export function completeSource<D extends DType>(source: SourceLike<D>, options: SourceOptions | undefined): BlockSource<D> {
  checkValue('DiskArray', 'source', source, 'object')
  checkValue('DiskArray', 'readBlock', source.readBlock, 'function')
  checkDType(source.dtype)
  checkShape(source.shape, 'shape')
  if (source.dimensionNames !== undefined) checkValue('DiskArray', 'dimensionNames', source.dimensionNames, 'list of strings')
  if (source.budget !== undefined) checkValue('DiskArray', 'budget', source.budget, 'MemoryBudget')
  checkOptions('DiskArray', options, SOURCE_CHECKS)
  const chunks = gridOf(source, options)
  if (!sameShape(chunks.shape, source.shape)) {
    throw new HyperslabError(
      'InvalidArgumentError',
      `the chunk grid covers ${showShape(chunks.shape)}, the array is ${showShape(source.shape)}`,
      { ...source.label, actual: chunks.shape, expected: source.shape },
    )
  }
  if (source.missing !== undefined) missingElements(source)
  if (source.chunks === chunks && !options?.scalar) return source as BlockSource<D>
  const own = source as BlockSource<D>
  const bound = <K extends 'readBlock' | 'writeBlock' | 'writeMasked'>(name: K): BlockSource<D>[K] =>
    own[name]?.bind(source) as BlockSource<D>[K]
  return {
    ...deriveSource<D>(own, { chunks, readBlock: bound('readBlock'), bulk: own.bulk }),
    writeBlock: bound('writeBlock'),
    writeMasked: bound('writeMasked'),
    writeGrid: own.writeGrid,
    scalarReads: scalarReadsOf(options?.scalar, source.shape, source.scalarReads),
  } as BlockSource<D>
}
