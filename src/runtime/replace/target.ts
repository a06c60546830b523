import type { Signal } from '../../core/signal.ts'
import type { Store } from '../../store/store.ts'

/** The names that the chunks of an array have in its folder. */
export interface ChunkNames {
  /** Path of the array. */
  readonly path: string
  readonly rank: number
  readonly separator: string
  /** Whether names begin with `c`. */
  readonly isPrefixed: boolean
}

/** What tells the objects of a target from others, as data: it outlives the metadata. */
export interface Members {
  readonly arrays: readonly ChunkNames[]
}

/** What is at a place before it is replaced. */
export interface Survey {
  /** `replacing` where an earlier replacement has begun to switch, and did not end. */
  readonly state: 'empty' | 'unfinished' | 'complete' | 'replacing'
  /** Versions of the objects without which nothing opens, by name. */
  readonly roots: ReadonlyMap<string, string>
  /** All objects, by their names below the prefix. */
  readonly names: readonly string[]
  readonly members: Members
}

/** Something that is replaced as one: a Zarr hierarchy, or a container with its sidecars. */
export interface Target {
  readonly store: Store
  /** The beginning of all its keys. */
  readonly prefix: string
  /** The folder of what is written beside it, with a slash at its end. */
  readonly workspace: string
  /** The place that users name. */
  readonly place: string
  /** The object that is claimed: while it says so, readers refuse the place. */
  readonly claimed: string
  /** What the claimed object holds meanwhile. */
  claim(command: string): Uint8Array
  /** Whether an object says what there is: removed first, written last. */
  isMetadata(name: string): boolean
  /** Whether an object is one of those without which nothing opens. */
  isRoot(name: string): boolean
  /** Tells whether an object is a part of what has these members. */
  membership(members: Members): (name: string) => boolean
  /**
   * Looks at what is there.
   * @throws AlreadyExistsError for anything that is no part of it
   */
  survey(signal: Signal | undefined): Promise<Survey>
}
