import type { ChunkNames } from '../../adapters/zarr/write/members.ts'
import type { Signal } from '../../core/signal.ts'
import type { Store } from '../../store/store.ts'

/** Description of the objects that belong to a target. It is plain data, so that it outlives the metadata. */
export interface Members {
  readonly arrays: readonly ChunkNames[]
  /** Names of the other members. Containers have few, and all of them are recorded. */
  readonly names?: readonly string[]
}

/** State of a place before its replacement. */
export interface Survey {
  /** State; `replacing`: an earlier replacement has begun to switch and did not end. */
  readonly state: 'empty' | 'unfinished' | 'complete' | 'replacing'
  /** Versions of the root objects, without which nothing opens, by name. */
  readonly roots: ReadonlyMap<string, string>
  /** Names of all objects, relative to the prefix. */
  readonly names: readonly string[]
  readonly members: Members
}

/** Claim of a place during a switch. */
export interface PlaceClaim {
  /** Name of the draft that takes the place. */
  readonly draft: string
  /** Content of the claimed object before the claim. It is restored if the draft is gone. */
  readonly replaced?: Uint8Array | 'none' | undefined
}

/** Unit that is replaced as a whole: a Zarr hierarchy, or a container with its sidecars. */
export interface Target {
  readonly store: Store
  /** Prefix of all its keys. */
  readonly prefix: string
  /** Folder of the new objects beside it, with a trailing slash. */
  readonly workspace: string
  /** Place as the user names it. */
  readonly place: string
  /** Key of the claimed object. While it contains the claim, readers refuse the place. */
  readonly claimed: string
  /**
   * Returns the content of the claimed object during the switch.
   * @param command command that completes the switch, as errors show it
   */
  claim(command: string, draft: string): Promise<Uint8Array>
  /** Reads the claim. `undefined` if no replacement has claimed the place, or if it has ended. */
  claimNow(signal: Signal | undefined): Promise<PlaceClaim | undefined>
  /** Whether an object is metadata, which are removed first and written last. */
  isMetadata(name: string): boolean
  /** Whether an object is a root object, without which nothing opens. */
  isRoot(name: string): boolean
  /** Returns a function that checks whether an object belongs to these members. */
  membership(members: Members): (name: string) => boolean
  /**
   * Surveys the place.
   * @throws AlreadyExistsError for objects that do not belong to the target
   */
  survey(signal: Signal | undefined): Promise<Survey>
  /**
   * Makes the metadata outside the target that describe it agree with its content. While the place is
   * claimed, they describe nothing there. Optional: only Zarr groups above a target describe it.
   */
  follow?(): Promise<void>
}
