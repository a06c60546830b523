import type { DiskArray } from '../array/disk-array.ts'
import type { NamedValues } from '../array/source.ts'
import type { Description } from './description.ts'

/** An array by the name it has in its place. */
export interface PlacedArray {
  readonly name: string
  readonly array: DiskArray
}

/** All that can be read of a place. */
export interface PlaceContents {
  readonly arrays: readonly PlacedArray[]
  /** Attributes of groups by path, the place itself as ''. */
  readonly groups: ReadonlyMap<string, NamedValues>
  /** What cannot be read, and why. */
  readonly leftOut: readonly string[]
}

/** What is open: a container, or a Zarr store. */
export interface Place extends AsyncDisposable {
  /** The name that messages give it. */
  readonly location: string
  /** @throws UnknownArrayError, naming those there are */
  array(name: string): Promise<PlacedArray>
  /** The arrays among which those are that belong to one, such as its coordinates. */
  arraysBeside(array: PlacedArray): Promise<readonly PlacedArray[]>
  contents(): Promise<PlaceContents>
  /** Everything but the data, which are read only where a container has no statistics of them. */
  describe(options: { readonly raw?: boolean }): Promise<Description>
}
