import { shareMemory } from '../copy/memory-bound.ts'
import { forEachLimited } from '../core/limiter.ts'
import { onlyVariables } from '../dataset/out/export.ts'
import { type ConcatDatasetsOptions, openDataset, openDatasets } from '../runtime/dataset.ts'
import { sourceVersion } from '../tree/source-version.ts'
import { writeArrays } from './export.ts'
import { interruptible, RESUMABLE } from './failure.ts'
import { notFoundAt, type WritingOptions } from './options.ts'
import { printLines } from './output.ts'
import { copyByQueue } from './queued-copy.ts'
import { isQueued, type QueuedOptions } from './queued-job.ts'

/** Options of commands that join files. */
export interface JoinOptions extends Pick<ConcatDatasetsOptions, 'overlap' | 'gaps' | 'compat'> {
  readonly dim?: string
}

/** Number of files whose version is checked concurrently. */
const AT_ONCE = 8

/**
 * Writes the variables of one or several places with their labels, here or through a queue. Several places
 * are joined.
 */
export async function importDataset(
  inputs: readonly string[],
  output: string,
  isZarr: boolean,
  options: WritingOptions & QueuedOptions & JoinOptions & { readonly blockBytes?: number },
): Promise<void> {
  const { chunks, shards, codec, level, blockBytes, overwrite = false, immutable, variables, memory } = options
  const { dim, overlap, gaps, compat } = options
  const join = { ...(dim && { dim }), ...(overlap && { overlap }), ...(gaps && { gaps }), ...(compat && { compat }) }
  const [only, ...others] = inputs
  const dataset = others.length === 0 ? only! : inputs
  const at = options.notFound === undefined ? {} : { notFound: options.notFound }
  if (isQueued(options)) return copyByQueue({ dataset, ...at, ...join, ...(variables && { variables }) }, output, options)
  const { pool, budget, maxBytes } = shareMemory(memory)
  await using _ = pool
  const write = async (signal: AbortSignal): Promise<string[]> => {
    const reading = { pool, budget, signal, ...at }
    await using ds =
      typeof dataset === 'string' ? await openDataset(dataset, reading) : await openDatasets(dataset, { ...reading, ...join })
    const chosen = variables === undefined ? ds : onlyVariables(ds, variables)
    const writing = { chunks, shards, codec: codec ?? (isZarr ? undefined : 'lz4'), level, blockBytes, overwrite, immutable }
    const given = Object.fromEntries(Object.entries(writing).filter(([, value]) => value !== undefined))
    if (!isZarr) return await writeArrays('importing', chosen, output, given, signal)
    const names = [...Object.keys(ds.variables), ...Object.keys(ds.coords), '']
    const versions: string[] = []
    await forEachLimited(inputs.entries(), AT_ONCE, async ([at, input]) => {
      versions[at] = await sourceVersion(input, names, { signal, ...notFoundAt(input, options) })
    })
    const resume = JSON.stringify([inputs, versions, join])
    return await writeArrays('importing', chosen, output, { ...given, sources: inputs, maxBytes, resume }, signal)
  }
  await printLines(await interruptible(write, isZarr ? RESUMABLE : ''))
}
