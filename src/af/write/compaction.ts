import type { Progress } from '../../array/transfers.ts'
import { HyperslabError } from '../../core/errors.ts'
import { pause } from '../../core/pace.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import { randomId } from '../format/encode.ts'
import type { MergedLayer } from '../format/identity.ts'
import { ArrayState } from '../layers/array-state.ts'
import { Dictionary } from '../layers/dictionary.ts'
import { Layer } from '../layers/layer.ts'
import { listSidecars } from '../layers/listed.ts'
import { Stack } from '../layers/stack.ts'
import { clean, deadFile, mergedUpTo, nextNumber, overtaken, withdraw } from './clean.ts'
import { isConflict, type LayerArray, publishEmpty, publishLayer, withLayer } from './commit.ts'
import { compactInto } from './compact.ts'
import { type ContainerFiles, checkReplaces, isBase, newPacker } from './container-files.ts'
import type { BlockPacker } from './packer.ts'

/**
 * Attempts to compact a state that is still open. After that it is closed first, so that compaction
 * terminates.
 */
const OPEN_ROUNDS = 2
/**
 * Wait for the successor of a closed base before it is built here: the first wait in ms, doubled each time,
 * and the number of waits. A base is closed when its successor is ready, so this takes no longer than one
 * publication.
 */
const FIRST_WAIT_MS = 20
const WAITS = 5

/** State of a container after compaction, and the statistics of chunks that were computed along the way. */
export interface Compacted {
  readonly stack: Stack
  readonly states: readonly ArrayState[]
}

/**
 * Replaces a container by a single base, as docs/commit-protocol.md describes. Ignores pending changes.
 * @param stack the state when it was last read
 * @throws UnsupportedError if the store cannot replace files on condition
 */
export async function compactContainer(
  files: ContainerFiles,
  blocks: BlockReader,
  stack: Stack,
  onProgress?: (progress: Progress) => void,
): Promise<Compacted> {
  await checkReplaces(files, 'compacting')
  // Includes layers and compactions of other writers since then.
  let current = await reopen(files, stack)
  await checkLayered(files, current)
  for (let round = 1; ; round++) {
    if (round > OPEN_ROUNDS && !current.closed) {
      current = (await close(files, current)) ?? (await reopen(files, current))
      if (!current.closed) continue
    }
    const states = [...mergeable(current).arrays().values()].map((live) => ArrayState.of(live))
    const packer = newPacker(files)
    try {
      const arrays = await compactInto(packer, states, blocks, { recode: files.options.recode, onProgress })
      const replaced = await replaceBase(files, current, arrays, packer)
      if (replaced !== undefined) return { stack: await cleanUp(files, replaced), states }
    } catch (error) {
      // Another writer may have replaced the base and removed the layers that were being read.
      if (!isConflict(error) || (await isBase(files, current))) throw error
    } finally {
      await packer.discard()
    }
    const newer = await reopen(files, current)
    await checkLayered(files, newer)
    // Another writer has published a successor of this state.
    if (newer.base.identity.id !== current.base.identity.id) return { stack: await cleanUp(files), states: [] }
    current = newer
  }
}

/**
 * Checks that no other process has replaced the base with a file of footer version 6. If one has, removes the
 * layers that closed the base, which are empty.
 * @throws ReadOnlyError
 */
async function checkLayered(files: ContainerFiles, { readOnly, base, beside }: Stack): Promise<void> {
  if (readOnly === undefined) return
  if (base.immutable) for (const { number } of beside) await withdrawClosed(files, number)
  throw new HyperslabError('ReadOnlyError', readOnly, { file: base.file })
}

/** Removes a layer that closed a base, because it is empty. Other files stay. */
async function withdrawClosed(files: ContainerFiles, number: number): Promise<void> {
  const { store, paths, options } = files
  const layer = await Layer.open(store, paths.sidecar(number), number, options.limits).catch(() => undefined)
  if (layer?.identity.kind === 'closed') await withdraw(files, deadFile(layer))
}

/**
 * Waits for the successor of a base that takes no further layer. If none appears, its writer has died, and
 * this process publishes it.
 */
export async function finish(files: ContainerFiles, blocks: BlockReader, stack: Stack): Promise<void> {
  for (let wait = 0; wait < WAITS; wait++) {
    await pause(FIRST_WAIT_MS * 2 ** wait * (0.5 + Math.random() / 2))
    if (!(await isBase(files, stack))) return
  }
  await compactContainer(files, blocks, stack)
}

/** @returns the closed state; undefined if another writer has added to it or closed it first */
async function close(files: ContainerFiles, stack: Stack): Promise<Stack | undefined> {
  const { store, paths, options } = files
  try {
    const { number, condition } = await nextNumber(files, stack)
    const identity = { kind: 'closed', base: stack.base.identity.id } as const
    const place = { number, base: paths.base }
    const key = paths.sidecar(number)
    return withLayer(stack, await publishEmpty(store, key, place, identity, newPacker(files), { ...options, condition }))
  } catch (error) {
    if (isConflict(error)) return undefined
    throw error
  }
}

/**
 * Replaces the base of a state with the packed blocks. Closes the state before.
 * @returns the new state; undefined if another writer has changed the state first
 */
async function replaceBase(
  files: ContainerFiles,
  stack: Stack,
  arrays: readonly LayerArray[],
  packer: BlockPacker,
): Promise<Stack | undefined> {
  const { store, paths, options } = files
  const { layers } = mergeable(stack)
  const dictionary = Dictionary.extending(layers.map(({ footer }) => footer)) ?? new Dictionary()
  const identity = { id: randomId(), kind: 'base', merged: listed([...layers.slice(1), ...stack.dead]) } as const
  const contents = { number: 0, base: paths.base, arrays, deleted: [], dictionary, identity }
  const condition = { ifAbsent: false, ifMatch: stack.base.info.etag }
  let closed = stack.closed ? stack : undefined
  const before = async (): Promise<void> => {
    closed ??= await close(files, stack)
    if (closed === undefined) throw overtaken()
  }
  try {
    const base = await publishLayer(store, paths.base, contents, packer, { ...options, condition, before })
    return new Stack([base, ...closed!.sidecars])
  } catch (error) {
    if (isConflict(error)) return undefined
    throw error
  }
}

/**
 * Returns the state that the successor of a base contains. Layers that another program added after it was
 * closed stay live and are not part of it, so all writers publish the same successor.
 */
function mergeable(stack: Stack): Stack {
  const closed = stack.layers.findIndex(({ identity }) => identity.kind === 'closed')
  return closed < 0 ? stack : new Stack(stack.layers.slice(0, closed + 1))
}

/**
 * Returns the layers of other programs, as a new base lists them. The base contains their data, so readers
 * ignore these files while they still exist.
 */
export const listed = (layers: readonly Layer[]): MergedLayer[] =>
  layers.filter(({ foreign }) => foreign).map(({ number, identity: { id } }) => ({ number, id }))

/** Attempts to clean while other writers clean or write at the same time. */
const CLEANINGS = 20

/**
 * Removes the files that do not count on the current base. Starts again if another writer changes something
 * meanwhile, because otherwise two writers could each leave a file to the other.
 * @param known the state, if it is known already
 */
export async function cleanUp(files: ContainerFiles, known?: Stack): Promise<Stack> {
  const { store, paths } = files
  for (let left = CLEANINGS; ; left--) {
    // If the base was replaced before the listing, the highest listed number may be live on it, and later
    // layers may be missing in the list.
    const before = await store.stat(paths.base)
    const stack = known !== undefined && (await lists(files, known)) ? known : await reopen(files)
    known = undefined
    if (stack.dead.length === 0 || left === 0) return stack
    if (before?.etag !== stack.base.info.etag) continue
    if (await clean(files, stack.dead.map(deadFile), mergedUpTo(stack))) return reopen(files, stack)
  }
}

/** Whether the numbers of a state are those in the store now. Cleaning compares versions later. */
async function lists({ store, paths }: ContainerFiles, { sidecars }: Stack): Promise<boolean> {
  const numbers = new Set(await listSidecars(store, paths))
  return numbers.size === sidecars.length && sidecars.every(({ number }) => numbers.has(number))
}

const reopen = ({ store, paths, options }: ContainerFiles, known?: Stack): Promise<Stack> =>
  Stack.open(store, paths, options.limits, {}, known)
