import type { FileHandleLike } from './handles.ts'
import { keyFor } from './handles.ts'
import { Snapshots } from './snapshots.ts'
import type { ObjectInfo, RangeOptions, Store } from './store.ts'

/** One object: the file of a `FileSystemFileHandle`, read only. Its siblings cannot be seen from there. */
export class FileHandleStore implements Store {
  /** The key of the object: the file's name, with `.af` added when it does not end so. */
  readonly key: string
  readonly seesOneFile = true
  readonly #name: string
  readonly #snapshots: Snapshots

  constructor(handle: FileHandleLike) {
    this.#name = handle.name
    this.key = keyFor(handle.name)
    this.#snapshots = new Snapshots(
      async (key) => (key === this.key ? handle.getFile() : undefined),
      (key) => this.describe(key),
    )
  }

  describe(key: string): string {
    return key === this.key ? this.#name : key
  }

  stat(key: string): Promise<ObjectInfo | undefined> {
    return this.#snapshots.stat(key)
  }

  getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    return this.#snapshots.getRange(key, offset, length, options)
  }
}
