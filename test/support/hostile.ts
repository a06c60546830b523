import { chunkTable, encodeFooterFile } from '../../src/af/format/encode.ts'
import type { AfDType, FillValue } from '../../src/af/format/footer.ts'
import { type ArrayFile, MemoryStore, type OpenOptions, open } from '../../src/runtime/index.ts'
import { footerOf, metaOf } from './containers.ts'

export interface Claimed {
  readonly dtype?: AfDType['kind']
  readonly shape: readonly number[]
  readonly chunkShape: readonly number[]
  readonly fillValue?: FillValue
  /** Coordinates of stored chunks, each of one element of the value 7 in a block of its own. */
  readonly stored?: readonly (readonly number[])[]
}

/**
 * Returns a container as an attacker might send it: less than a kilobyte, whose one array, `x`, has the size
 * that it claims.
 */
export async function claim(
  { dtype = 'float64', shape, chunkShape, fillValue, stored = [] }: Claimed,
  options?: OpenOptions,
): Promise<ArrayFile> {
  const store = new MemoryStore()
  const element = new Uint8Array(Float64Array.of(7).buffer)
  const chunks = chunkTable(
    shape.length,
    stored.map((coord) => ({ coord, blockId: 0, offset: 0, size: 8 })),
  )
  const array = metaOf('x', { kind: dtype } as AfDType, shape, {
    chunkShape: [...chunkShape],
    chunks,
    fillValue: fillValue ?? null,
  })
  const block = { id: 0, fileOffset: 0, compressedBytes: 8, uncompressedBytes: 8, codec: null }
  const footer = encodeFooterFile(footerOf([array], { blocks: stored.length === 0 ? [] : [block] }))
  const data = stored.length === 0 ? new Uint8Array() : element
  const file = new Uint8Array(data.length + footer.length)
  file.set(data)
  file.set(footer, data.length)
  await store.put('x.af', file)
  return open({ store, path: 'x.af' }, options)
}

/**
 * Runs what may take for ever, with a signal that is aborted once the event loop has turned some times.
 * @param most so many times
 * @returns the error, or `enough` when it is the reason of the abort; how often the loop turned, and how
 *   often of it after the abort
 */
export async function givenUp(
  work: (signal: AbortSignal) => Promise<unknown>,
  most = 5,
): Promise<{ turns: number; after: number; error: unknown }> {
  const controller = new AbortController()
  const reason = new Error('enough')
  let turns = 0
  let ended = false
  const turn = (): void => {
    if (ended) return
    if (++turns === most) controller.abort(reason)
    setTimeout(turn, 1)
  }
  setTimeout(turn, 1)
  const error = await work(controller.signal).then(
    () => undefined,
    (thrown: unknown) => (thrown === reason ? 'enough' : thrown),
  )
  ended = true
  return { turns, after: Math.max(0, turns - most), error }
}
