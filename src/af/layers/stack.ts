import { HyperslabError } from '../../core/errors.ts'
import { sameShape } from '../../core/shape.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { Absences } from '../../store/absences.ts'
import type { Store, StoreOptions } from '../../store/store.ts'
import { type Definition, sameButShape, sameDefinition } from '../format/definition.ts'
import type { ArrayMeta } from '../format/footer.ts'
import type { Limits } from '../format/limits.ts'
import type { Layer, LayerOptions } from './layer.ts'
import { LayerChunks } from './layer-chunks.ts'
import { firstSidecar, type NamedFile, type OpenedFiles, type Opening, openBase } from './opening.ts'
import type { Paths } from './paths.ts'

/** One array as one layer has it. */
export interface LayerEntry {
  readonly layer: Layer
  readonly meta: ArrayMeta
}

/** An array that exists, with the layers it is made of. */
export interface LiveArray {
  readonly definition: Definition
  /** The layers that mention it since it was defined, newest first. */
  readonly entries: readonly LayerEntry[]
}

export interface OpenStackOptions extends LayerOptions {
  /** Leave out the layers above this one. */
  readonly layer?: number | undefined
}

/** The state of a container: its base and the live layers on it, by number. See docs/commit-protocol.md. */
export class Stack {
  readonly layers: readonly Layer[]
  /** Sidecars that count for nothing on this base, by number: left over from an earlier one, or void. */
  readonly dead: readonly Layer[]
  /**
   * Files that are named like sidecars but are not: a file of footer version 6 is never a layer, and has no
   * sidecars.
   */
  readonly beside: readonly NamedFile[]

  /**
   * @param files the base, then the files named like its sidecars, by number
   * @param unread more files that are named like sidecars but are not
   */
  constructor(files: readonly Layer[], unread: readonly NamedFile[] = []) {
    const [base, ...others] = files
    const [live, dead, beside]: [Layer[], Layer[], NamedFile[]] = [[base!], [], [...unread]]
    for (const layer of others) {
      if (base!.immutable || layer.immutable) beside.push(layer)
      else (isLive(layer, base!) ? live : dead).push(layer)
    }
    this.layers = live
    this.dead = dead
    this.beside = beside
  }

  /**
   * Opens all layers there are: those that the store lists or, where it cannot list, 1, 2, … until there is
   * none.
   * @param known layers that were open before; those that are still there are taken over
   * @throws NotFoundError when there is no base, or not the layer asked for; FormatError for a damaged layer;
   *   ConflictError when others keep compacting meanwhile
   */
  static async open(
    store: Store,
    paths: Paths,
    limits: Required<Limits>,
    options: OpenStackOptions = {},
    known?: Stack,
  ): Promise<Stack> {
    const { layer: last = Number.POSITIVE_INFINITY } = options
    // Absences of sidecars are confirmed before any result relies on them.
    const absences = new Absences(store)
    const stack = await absences.settled(
      () => openAll(store, paths, { ...options, absences, onUnproved: absences.onUnproved, limits, last }, known),
      options.signal,
    )
    if (last === Number.POSITIVE_INFINITY || stack.top === last) return stack
    const there = stack.layers.map(({ number }) => number)
    throw new HyperslabError('NotFoundError', `there is no layer ${last}; there are ${there.join(', ')}`, {
      file: store.describe(paths.base),
      actual: last,
    })
  }

  get base(): Layer {
    return this.layers[0]!
  }

  /** Those that count and those that do not, by number. */
  get sidecars(): Layer[] {
    return [...this.layers.slice(1), ...this.dead].sort((a, b) => a.number - b.number)
  }

  /** Whether a number below the newest layer has no layer. No operation that completes leaves this state. */
  get lacksFiles(): boolean {
    return this.sidecars.filter(({ number }) => number <= this.top).length < this.top
  }

  /** Reason why the container cannot be written to in this state; undefined if it can. */
  get readOnly(): string | undefined {
    const { base, beside } = this
    if (base.immutable)
      return 'files of footer version 6 are never changed: copy it into a container with layers, which can be (hyperslab import OLD.af NEW.af)'
    const [first] = beside
    if (first === undefined) return undefined
    return `${first.file} has the name of a layer, but is a file of footer version 6: move it elsewhere, then write`
  }

  /** Number of the newest layer. */
  get top(): number {
    return this.layers.at(-1)!.number
  }

  /**
   * Whether the base takes no further layer: somebody is about to publish its successor, or has died doing
   * so.
   */
  get closed(): boolean {
    return this.layers.some(({ identity }) => identity.kind === 'closed')
  }

  /**
   * What tells this state from all others that the container had or will have, and whether another program
   * made it.
   */
  get described(): { readonly id: string; readonly foreign: boolean } {
    const newest = this.layers.at(-1)!
    return { id: `${this.base.identity.id} ${newest.identity.id}`, foreign: newest.foreign }
  }

  /** The arrays that exist, in the order they were defined. */
  arrays(): Map<string, LiveArray> {
    return arraysIn(this.layers)
  }
}

/** Returns the warning for a file that is named like a sidecar of a container but is not one. */
export const besideText = (base: Pick<Layer, 'immutable'>): string =>
  base.immutable
    ? 'has the name of a sidecar, but the container, of footer version 6, has none: nothing of it is read'
    : 'has the name of a sidecar, but is a file of footer version 6: nothing of it is read'

/**
 * The arrays that some layers, oldest first, make up, in the order they were defined. The newest entry of a
 * name decides whether there is such an array; its chunks reach down to the newest layer that deleted it or
 * in which it was something else, and not beyond: what lies below belongs to another array.
 */
export function arraysIn(layers: readonly Layer[]): Map<string, LiveArray> {
  const entries = new Map<string, LayerEntry[]>()
  for (const layer of layers) {
    const begins = new Set(layer.identity.redefined?.map((index) => layer.footer.arrays[index]))
    for (const meta of layer.arrays.values()) {
      if (meta.deleted || begins.has(meta)) entries.delete(meta.name)
      const below = entries.get(meta.name)
      if (meta.deleted) continue
      if (below === undefined) entries.set(meta.name, [{ layer, meta }])
      else if (isSame(below[0]!, { layer, meta })) below.unshift({ layer, meta })
      else entries.set(meta.name, [{ layer, meta }])
    }
  }
  return new Map([...entries].map(([name, list]) => [name, { definition: list[0]!.meta, entries: list }]))
}

/**
 * Whether an entry goes on with the array of the one below. Only layers with the mark change shapes; it is
 * the same array, too, where a base that was compacted of several shapes still has old sidecars above it,
 * some of which say what it was before.
 */
function isSame(below: LayerEntry, entry: LayerEntry): boolean {
  if (sameShape(below.meta.shape, entry.meta.shape)) return sameDefinition(below.meta, entry.meta)
  const marked = entry.layer.resizes || (below.layer.number === 0 && below.layer.resizes)
  return marked && sameButShape(below.meta, entry.meta)
}

/** The chunks that an entry's layer stores, by their number in the grid that the array has now. */
export function indexOf({ layer, meta }: LayerEntry, grid: ChunkGrid): LayerChunks {
  return new LayerChunks(meta.chunks, grid, layer.blocks)
}

/**
 * A layer counts on the base that it names, one that names none on every base that does not list it as
 * merged.
 */
function isLive({ number, identity: { id, kind, base: named } }: Layer, { identity: base }: Layer): boolean {
  if (kind === 'void') return false
  if (named !== undefined) return named === base.id
  return !(base.merged ?? []).some((merged) => merged.number === number && merged.id === id)
}

/** How often opening starts anew because a layer is gone that was listed. */
const REOPENINGS = 5
/**
 * Opens the state of a container. The base is read first, because a file of footer version 6 has no layers.
 * Any other base counts only if its version is still there after the sidecars were read; otherwise it is read
 * again. A base that layers name and that is there after they were read was there all the time between. If it
 * was replaced meanwhile, no layer that was read counts on it.
 */
async function openAll(store: Store, paths: Paths, options: Omit<Opening, 'room'>, known: Stack | undefined): Promise<Stack> {
  for (let left = REOPENINGS; left > 0; left--) {
    const each = { ...options, room: { bytes: options.limits.footerBytes } }
    const before = left === REOPENINGS ? known : undefined
    const files =
      store.list === undefined
        ? await openProbed(store, paths, each, before?.base.immutable === false)
        : await (await import('./listed.ts')).openListed(store, paths, each, before)
    const stack = files && new Stack(files.layers, files.unread)
    if (stack !== undefined && (await isSettled(store, paths, stack, options))) return stack
  }
  throw new HyperslabError('ConflictError', 'other writers compacted it whenever it was opened', {
    file: store.describe(paths.base),
  })
}

/** @param hasLayers whether the base is known to take layers, so that it is read once, after them */
async function openProbed(store: Store, paths: Paths, options: Opening, hasLayers: boolean): Promise<OpenedFiles> {
  // Loaded while the base is read. A file of footer version 6 does without.
  const loading = import('./probed.ts')
  loading.catch(() => undefined)
  if (hasLayers) return (await loading).openLayers(store, paths, options)
  // Both at once: a container without sidecars then takes no more round trips than a read of the base after
  // the probe, and a file of footer version 6 takes one.
  const first = firstSidecar(store, paths, options)
  const base = await openBase(store, paths, options)
  return base.immutable ? { layers: [base] } : (await loading).openLayers(store, paths, options, { base, first })
}

/** Whether it is certain that the layers counted together at one moment. */
async function isSettled(store: Store, paths: Paths, stack: Stack, options: StoreOptions): Promise<boolean> {
  const sidecars = new Map(stack.sidecars.map((layer) => [layer.number, layer]))
  const dead = new Set(stack.dead)
  const uncertain: number[] = []
  for (let number = 1; number <= stack.top; number++) {
    const layer = sidecars.get(number)
    if (layer === undefined || dead.has(layer) || layer.identity.base === undefined) uncertain.push(number)
  }
  if (uncertain.length === 0) return true
  const { areUnchanged } = await import('./settled.ts')
  return areUnchanged(store, paths, uncertain, [stack.base, ...sidecars.values()], options)
}
