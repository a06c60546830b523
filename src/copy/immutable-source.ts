import { ArrayFile } from '../af/file.ts'
import { invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import type { Location } from '../tree/location.ts'
import { IMPORT_CHECKS, type ImportResult, importArrays } from './import-arrays.ts'
import { checkNoChunks, storedSource } from './import-container.ts'
import { arraysSource, type GivenArray } from './named-arrays.ts'
import type { ImmutableSource, WriteImmutableOptions, WritesItself } from './write-immutable.ts'

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
    return importArrays(CALL, open, location, writing)
  }
  if (isWriting(source)) {
    if (attributes !== undefined) invalidArgument(`${CALL}: attributes: a dataset has its own, attrs`, attributes)
    const { bytes = 0, arrays, warnings } = await source.write(location, { ...writing, format: 'af' })
    return { arrays, bytes, warnings }
  }
  const entries = source instanceof Map ? [...source] : Object.entries(source)
  const given = arraysSource(CALL, entries as [string, GivenArray][], Object.entries(attributes ?? {}))
  return importArrays(CALL, async () => given, location, writing)
}

const isWriting = (source: object): source is WritesItself => typeof (source as { write?: unknown }).write === 'function'
