import type { DiskArray } from '../array/disk-array.ts'
import type { NamedValues } from '../array/source.ts'
import type { Tree } from '../tree/open-tree.ts'
import type { Description } from './description.ts'

/** An array with its name in the place. */
export interface PlacedArray {
  readonly name: string
  readonly array: DiskArray
}

/** Readable content of a place. */
export interface PlaceContents {
  readonly arrays: readonly PlacedArray[]
  /** Attributes of groups by path; '' is the place itself. */
  readonly groups: ReadonlyMap<string, NamedValues>
  /** Messages about items that cannot be read. */
  readonly leftOut: readonly string[]
}

/** An open container, NetCDF file or Zarr store. */
export interface Place extends AsyncDisposable {
  readonly tree: Tree
  /** Name of the place in messages. */
  readonly location: string
  /** @throws UnknownArrayError with the known names */
  array(name: string): Promise<PlacedArray>
  /** Returns the arrays among which those that belong to an array, such as coordinates, are found. */
  arraysBeside(array: PlacedArray): Promise<readonly PlacedArray[]>
  contents(): Promise<PlaceContents>
  /** Describes everything except the data. It reads data only if a container lacks their statistics. */
  describe(options: { readonly raw?: boolean }): Promise<Description>
}
