import { HyperslabError } from '../../core/errors.ts'
import { LazyMap } from '../../core/lazy-map.ts'
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

/** Entry of one array in one layer. */
export interface LayerEntry {
  readonly layer: Layer
  readonly meta: ArrayMeta
}

/** An array that exists, with the layers that contain it. */
export interface LiveArray {
  readonly definition: Definition
  /** The layers that contain it since it was defined, newest first. */
  readonly entries: readonly LayerEntry[]
}

export interface OpenStackOptions extends LayerOptions {
  /** Ignore the layers above this one. */
  readonly layer?: number | undefined
}

/** State of a container: its base and the live layers on it, by number. See docs/commit-protocol.md. */
export class Stack {
  readonly layers: readonly Layer[]
  /** Sidecars that do not count on this base, by number: left over from an earlier base, or void. */
  readonly dead: readonly Layer[]
  /**
   * Files that are named like sidecars but are not: a file of footer version 6 is never a layer, and has no
   * sidecars.
   */
  readonly beside: readonly NamedFile[]

  /**
   * @param files the base, then the files named like its sidecars, by number
   * @param named more files that are named like sidecars but are not
   */
  constructor(files: readonly Layer[], named: readonly NamedFile[] = []) {
    const [base, ...others] = files
    const [live, dead, beside]: [Layer[], Layer[], NamedFile[]] = [[base!], [], [...named]]
    for (const layer of others) {
      if (base!.immutable || layer.immutable) beside.push(layer)
      else (isLive(layer, base!) ? live : dead).push(layer)
    }
    this.layers = live
    this.dead = dead
    this.beside = beside
  }

  /**
   * Opens all layers: those that the store lists or, if it cannot list, 1, 2, … until one is missing.
   * @param known layers that were opened before; those that still exist are reused
   * @throws NotFoundError if the base or the requested layer does not exist; FormatError for a damaged layer;
   *   ConflictError if other writers keep compacting meanwhile
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

  /** All sidecars, live and dead, by number. */
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
   * Whether the base takes no further layer: another writer is about to publish its successor, or has died
   * before that.
   */
  get closed(): boolean {
    return this.layers.some(({ identity }) => identity.kind === 'closed')
  }

  /**
   * Identifies this state among all states of the container, past and future. `foreign`: whether another
   * program wrote it.
   */
  get described(): { readonly id: string; readonly foreign: boolean } {
    const newest = this.layers.at(-1)!
    return { id: `${this.base.identity.id} ${newest.identity.id}`, foreign: newest.foreign }
  }

  /** Returns the arrays that exist, in the order of their definition. */
  arrays(): ReadonlyMap<string, LiveArray> {
    return arraysIn(this.layers)
  }
}

/** Returns the warning for a file that is named like a sidecar of a container but is not one. */
export const besideText = (base: Pick<Layer, 'immutable'>): string =>
  base.immutable
    ? 'has the name of a sidecar, but the container, of footer version 6, has none: it is not read'
    : 'has the name of a sidecar, but is a file of footer version 6: it is not read'

/**
 * Returns the arrays of some layers, given oldest first, in the order of their definition. The newest entry
 * of a name decides whether the array exists. Its chunks come from the layers down to the newest one that
 * deleted it or in which it was another array. Entries below belong to that other array.
 */
export function arraysIn(layers: readonly Layer[]): ReadonlyMap<string, LiveArray> {
  const [base] = layers
  if (base?.immutable) return new LazyMap(base.arrays, (name) => alone(base, base.arrays.get(name)!))
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

/** Returns an array that no other layer mentions. */
const alone = (layer: Layer, meta: ArrayMeta): LiveArray => ({ definition: meta, entries: [{ layer, meta }] })

/**
 * Whether an entry continues the array of the entry below. Only layers with the mark change shapes. A base
 * that was compacted from several shapes can still have old sidecars above it with an earlier shape; these
 * belong to the same array.
 */
function isSame(below: LayerEntry, entry: LayerEntry): boolean {
  if (sameShape(below.meta.shape, entry.meta.shape)) return sameDefinition(below.meta, entry.meta)
  const marked = entry.layer.resizes || (below.layer.number === 0 && below.layer.resizes)
  return marked && sameButShape(below.meta, entry.meta)
}

/** Returns the chunks in an entry's layer, by their number in the current grid of the array. */
export function indexOf({ layer, meta }: LayerEntry, grid: ChunkGrid): LayerChunks {
  return new LayerChunks(meta.chunks, grid, layer.blocks)
}

/**
 * Whether a layer counts. A layer that names a base counts on that base only. Any other layer counts on every
 * base that does not list it as merged.
 */
function isLive({ number, identity: { id, kind, base: named } }: Layer, { identity: base }: Layer): boolean {
  if (kind === 'void') return false
  if (named !== undefined) return named === base.id
  return !(base.merged ?? []).some((merged) => merged.number === number && merged.id === id)
}

/** Attempts to open a state again after a listed layer has disappeared. */
const REOPENINGS = 5
/**
 * Opens the state of a container. The base is read first, because a file of footer version 6 has no layers.
 * Any other base counts only if its version is still there after the sidecars were read; otherwise it is read
 * again. A base that its layers name, and that is unchanged after they were read, was there throughout. If it
 * was replaced meanwhile, none of the layers counts on the new base.
 */
async function openAll(store: Store, paths: Paths, options: Omit<Opening, 'room'>, known: Stack | undefined): Promise<Stack> {
  for (let left = REOPENINGS; left > 0; left--) {
    const each = { ...options, room: { bytes: options.limits.footerBytes } }
    const before = left === REOPENINGS ? known : undefined
    const layered = before?.base.immutable ? undefined : before
    const files =
      store.list === undefined
        ? await openProbed(store, paths, each, before?.base)
        : await (await import('./listed.ts')).openListed(store, paths, each, layered)
    const stack = files && new Stack(files.layers, files.beside)
    if (stack !== undefined && (await isSettled(store, paths, stack, options))) return stack
  }
  throw new HyperslabError('ConflictError', 'other writers compacted it whenever it was opened', {
    file: store.describe(paths.base),
  })
}

/**
 * @param known the base of a state that was opened before. If it takes layers, it is read once, after them
 */
async function openProbed(store: Store, paths: Paths, options: Opening, known: Layer | undefined): Promise<OpenedFiles> {
  // Loaded while the base is read. A file of footer version 6 does not need it.
  const loading = import('./probed.ts')
  loading.catch(() => undefined)
  if (known?.immutable === false) return (await loading).openLayers(store, paths, options)
  // Both at once: opening a container without sidecars then takes no more round trips than reading the base
  // after the probe. A file of footer version 6 takes one. A refresh expects such a file again, without
  // sidecars.
  const first = known === undefined ? firstSidecar(store, paths, options) : undefined
  try {
    const base = await openBase(store, paths, options)
    return base.immutable ? { layers: [base] } : await (await loading).openLayers(store, paths, options, { base, first })
  } finally {
    first?.cancel()
  }
}

/** Whether the layers certainly formed the state at one moment. */
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
  return areUnchanged(store, paths, uncertain, stack, options)
}
