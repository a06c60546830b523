import { ArrayFile } from '../af/file.ts'
import { HyperslabError } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { checkUrlOptions, type Location, resolveLocation } from '../tree/location.ts'
import type { NotFoundOptions } from '../tree/url-options.ts'
import { copyToContainer } from './copy.ts'
import { FILE_ARRAY, IMPORT_CHECKS, type ImportOptions, type ImportResult, type ImportSource } from './import-arrays.ts'
import { arraysSource, toTypedAttributes } from './named-arrays.ts'

/** Options that do not apply to copies of stored arrays, which keep their chunks. */
const OWN_CHUNKS = ['chunks', 'chunkBytes'] as const

/**
 * Copies the newest state of a container into a new one of a single file. Arrays are copied as stored:
 * chunks, attributes with their types, fill values, axes of length 0. Blocks are copied without decoding if
 * possible. With options of chunks, arrays are divided anew.
 * @throws UnknownArrayError; errors of `open` and `copyToContainer`
 */
export async function importContainer(
  source: Location,
  target: Location,
  { notFound, ...options }: ImportOptions & NotFoundOptions = {},
): Promise<ImportResult> {
  checkOptions('importContainer', options, IMPORT_CHECKS)
  await checkUrlOptions('importContainer', source, { notFound })
  const { codecs, signal } = options
  const opening = { ...(codecs !== undefined && { codecs }), ...(signal !== undefined && { signal }) }
  const isRechunked = OWN_CHUNKS.some((name) => options[name] !== undefined)
  const openSource = async () => {
    const { store, path } = await resolveLocation(source, notFound === undefined ? {} : { notFound })
    const file = await ArrayFile.open(store, path, opening)
    return isRechunked ? rechunkedSource(file, options) : storedSource(file, options.variables)
  }
  return copyToContainer('importContainer', openSource, target, { ...options, sources: [source] })
}

/** @throws InvalidArgumentError for options of chunks, because a copy of stored arrays keeps its chunks */
export function checkNoChunks(call: string, options: object): void {
  for (const name of OWN_CHUNKS) {
    const given = (options as Record<string, unknown>)[name]
    if (given === undefined) continue
    const text = `${call}: ${name}: arrays of a container are copied with the chunks that they have`
    throw new HyperslabError('InvalidArgumentError', text, { actual: given })
  }
}

/** Returns the arrays of a container as elements, to be stored with other chunks. */
function rechunkedSource(file: ArrayFile, { variables, chunkBytes }: ImportOptions): ImportSource {
  const entries = (variables ?? file.arrays()).map((name) => [name, file.array(name)] as const)
  const source = arraysSource('importContainer', entries, toTypedAttributes(file.attrs))
  const arrays = chunkBytes === undefined ? source.arrays : source.arrays.map((each) => ({ ...each, chunkShape: undefined }))
  return { ...source, arrays, warnings: file.warnings(), [Symbol.asyncDispose]: () => file.close() }
}

/**
 * Returns the arrays of a container as they are stored. Closing the source closes the container.
 * @param names of the arrays. Default: all
 * @throws UnknownArrayError
 */
export function storedSource(file: ArrayFile, names: readonly string[] | undefined): ImportSource {
  const { states, blocks } = file.stored
  const known = new Set(states.map(({ definition }) => definition.name))
  const missing = names?.find((name) => !known.has(name))
  if (missing !== undefined) {
    const text = `there is no array '${missing}'; there are ${file.arrays().join(', ') || 'none'}`
    throw new HyperslabError('UnknownArrayError', text, { file: file.location, actual: missing, expected: file.arrays() })
  }
  const chosen = states.filter(({ definition: { name } }) => names === undefined || name === FILE_ARRAY || names.includes(name))
  return {
    attributes: [],
    arrays: [],
    dimensions: [],
    warnings: file.warnings(),
    stored: { states: chosen, blocks },
    [Symbol.asyncDispose]: () => file.close(),
  }
}
