import { ArrayFile } from '../af/file.ts'
import { invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import type { Location } from '../tree/location.ts'
import { copyToContainer } from './copy.ts'
import { IMPORT_CHECKS, type ImportOptions, type ImportResult } from './import-arrays.ts'
import { checkNoChunks, storedSource } from './import-container.ts'
import { type AttributeValues, arraysSource, type GivenArray } from './named-arrays.ts'

/** A Dataset, which writes itself. */
export interface WritesItself {
  /** Writes the whole dataset to a location. */
  write(
    location: Location,
    options: { readonly immutable: true; readonly format: 'container' },
  ): Promise<Omit<ImportResult, 'bytes'> & { readonly bytes?: number }>
}

/** Source of a file: a container, a dataset, or arrays by name. */
export type ImmutableSource = ArrayFile | WritesItself | ReadonlyMap<string, GivenArray> | Readonly<Record<string, GivenArray>>

/** Options of `writeImmutable`. */
export interface WriteImmutableOptions
  extends Pick<ImportOptions, 'codec' | 'level' | 'codecs' | 'blockBytes' | 'overwrite' | 'chunks' | 'signal' | 'onProgress'> {
  /** Attributes of the file as a whole. Only for arrays by name. */
  readonly attributes?: AttributeValues
}

const { codec, level, codecs, blockBytes, overwrite, chunks, signal, onProgress } = IMPORT_CHECKS
const CHECKS: Checks<WriteImmutableOptions> = {
  codec,
  level,
  codecs,
  blockBytes,
  overwrite,
  chunks,
  signal,
  onProgress,
  attributes: 'plain object',
}
const CALL = 'writeImmutable'

/** See `writeImmutable` of the package. */
export async function writeSource(
  source: ImmutableSource,
  location: Location,
  options: WriteImmutableOptions = {},
): Promise<ImportResult> {
  checkOptions(CALL, options, CHECKS)
  checkValue(CALL, 'the source', source, 'object')
  const { attributes, ...rest } = options
  const writing = { ...rest, immutable: true } as const
  if (source instanceof ArrayFile) {
    checkNoChunks(CALL, options)
    if (attributes !== undefined)
      invalidArgument(`${CALL}: attributes: a container is copied with its own attributes`, attributes)
    // The caller keeps the container and closes it.
    const open = async () => ({ ...storedSource(source, undefined), async [Symbol.asyncDispose]() {} })
    return copyToContainer(CALL, open, location, writing)
  }
  if (isWriting(source)) {
    if (attributes !== undefined) invalidArgument(`${CALL}: attributes: a dataset has its own, attrs`, attributes)
    const { bytes = 0, arrays, warnings } = await source.write(location, { ...writing, format: 'container' })
    return { arrays, bytes, warnings }
  }
  const entries = source instanceof Map ? [...source] : Object.entries(source)
  const given = arraysSource(CALL, entries as [string, GivenArray][], Object.entries(attributes ?? {}))
  return copyToContainer(CALL, async () => given, location, writing)
}

const isWriting = (source: object): source is WritesItself => typeof (source as { write?: unknown }).write === 'function'
