import { HyperslabError } from '../../core/errors.ts'
import type { PublishCondition } from '../../store/store.ts'
import { asWritable } from '../../store/writer.ts'
import type { Layer } from '../layers/layer.ts'
import type { Stack } from '../layers/stack.ts'
import { isConflict, publishEmpty } from './commit.ts'
import { type ContainerFiles, newPacker, requireConditions } from './container-files.ts'

/** A sidecar that does not count. */
export interface DeadFile {
  readonly number: number
  readonly etag: string
  /** Whether it has no contents. It then makes no difference to programs without the notion of bases. */
  readonly empty: boolean
}

export const deadFile = ({ number, info, identity: { kind } }: Layer): DeadFile => ({
  number,
  etag: info.etag,
  empty: kind === 'void' || kind === 'closed',
})

/**
 * Removes sidecars that do not count. Programs without the notion of bases see the same contents at each
 * moment: first the files are made void in ascending order, then those above `floor` are removed from the top
 * down.
 * @param floor number of the newest live layer, or of the last layer that the base lists as merged, whichever
 *   is higher
 * @returns false if another writer has changed one of them meanwhile: then all must be looked at again
 */
export async function clean(container: ContainerFiles, files: readonly DeadFile[], floor: number): Promise<boolean> {
  const { remove } = await requireConditions(container)
  // The last file with contents can be removed directly, because it hides nothing below it.
  const last = files.findLast(({ empty }) => !empty)
  const left: DeadFile[] = []
  for (const file of files) {
    const kept = file.empty || (remove && file === last && file.number > floor)
    const done = kept ? file : await makeVoid(container, file)
    if (done === undefined) return false
    left.push(done)
  }
  if (!remove) return true
  for (const file of left.reverse()) {
    if (file.number <= floor) return true
    if (!(await removeFile(container, file))) return false
  }
  return true
}

/** @returns false if another writer has changed it */
async function removeFile({ store, paths }: ContainerFiles, { number, etag }: DeadFile): Promise<boolean> {
  try {
    await asWritable(store).delete(paths.sidecar(number), { ifMatch: etag })
    return true
  } catch (error) {
    if (isConflict(error)) return false
    throw error
  }
}

/**
 * Withdraws a layer whose base was replaced by a file of footer version 6. Removes the layer or, if the store
 * cannot remove files on condition, empties it. A layer that another writer has changed stays.
 */
export async function withdraw(container: ContainerFiles, file: DeadFile): Promise<void> {
  const { remove, replace } = await requireConditions(container)
  if (remove) await removeFile(container, file)
  else if (replace) await makeVoid(container, file)
}

/**
 * Returns the number up to which files must stay: below are live layers, or another program's next layer
 * could be mistaken for a listed one.
 */
export const mergedUpTo = ({ top, base }: Stack): number =>
  Math.max(top, ...(base.identity.merged ?? []).map(({ number }) => number))

/** @returns the file as it is now; undefined if another writer has changed it */
const makeVoid = (container: ContainerFiles, { number, etag }: DeadFile): Promise<DeadFile | undefined> =>
  publishVoid(container, number, { ifAbsent: false, ifMatch: etag })

async function publishVoid(
  container: ContainerFiles,
  number: number,
  condition: PublishCondition,
): Promise<DeadFile | undefined> {
  const { store, paths, options } = container
  const place = { number, base: paths.base }
  const settings = { ...options, condition }
  try {
    const key = paths.sidecar(number)
    return deadFile(await publishEmpty(store, key, place, { kind: 'void' }, newPacker(container), settings))
  } catch (error) {
    if (isConflict(error)) return undefined
    throw error
  }
}

/** Number of the next layer, and the condition of its publication. */
export interface NextNumber {
  readonly number: number
  readonly condition: PublishCondition
  /** Whether dead layers were emptied or removed. The given state must then be read again. */
  readonly cleaned?: boolean
}

/**
 * Returns the number after the newest live layer. Dead layers above it are made void before, so that other
 * programs do not see them over the new layer. A dead layer with this number is replaced. Gaps are filled,
 * because readers that cannot list stop at the first one, and another program would fill it.
 * @throws ConflictError if another writer changes one of these files
 */
export async function nextNumber(container: ContainerFiles, stack: Stack): Promise<NextNumber> {
  const { top, dead } = stack
  const number = top + 1
  const below = new Set([...stack.layers, ...dead].map((layer) => layer.number))
  for (let missing = 1; missing < top; missing++) {
    if (!below.has(missing) && !(await publishVoid(container, missing, { ifAbsent: true }))) throw overtaken()
  }
  const above = dead.filter((layer) => layer.number > top).map(deadFile)
  if (above.length === 0) return { number, condition: { ifAbsent: true } }
  const { replace, remove } = await requireConditions(container)
  // Without conditional replacement, the layer is put above all dead ones.
  if (!replace) return { number: above.at(-1)!.number + 1, condition: { ifAbsent: true } }
  const empty: DeadFile[] = []
  let cleaned = above.some((file) => !file.empty)
  for (const file of above) {
    const done = file.empty ? file : await makeVoid(container, file)
    if (done === undefined) throw overtaken()
    empty.push(done)
  }
  while (remove && empty.length > 0 && empty.at(-1)!.number > top + empty.length) {
    if (!(await removeFile(container, empty.pop()!))) throw overtaken()
    cleaned = true
  }
  const taken = empty.find((file) => file.number === number)
  return { number, condition: taken === undefined ? { ifAbsent: true } : { ifAbsent: false, ifMatch: taken.etag }, cleaned }
}

export const overtaken = (): HyperslabError =>
  new HyperslabError('ConflictError', 'another writer has changed the container meanwhile; refresh, then try again')
