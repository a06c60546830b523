import type { HyperslabError } from '../core/errors.ts'
import type { DiskArray } from './disk-array.ts'
import type { NamedValues } from './source.ts'

/** Describes the storage of an array. Members that a format does not know are undefined. */
export interface StorageInfo {
  /** Stored type, if it differs from the data type of reads: `float16`, `datetime64[s]`. */
  readonly storedAs?: string | undefined
  /** Length of chunks along each axis, or the lengths of all chunks along it. */
  readonly chunkShape: readonly (number | readonly number[])[]
  /** Length of shards along each axis, or the lengths of all shards along it. */
  readonly shardShape?: readonly (number | readonly number[])[] | undefined
  /** Codecs of a chunk in words, in the order of encoding. */
  readonly codecs?: string | undefined
  /** Number of chunks that are stored. */
  readonly storedChunks?: number | undefined
  /** Size of the decoded elements. */
  readonly bytes?: number | undefined
  /** Size of the stored chunks. */
  readonly compressedBytes?: number | undefined
}

/**
 * Statistics of an array, as its format stores them: `min` and `max` of the elements, `nullCount` missing
 * ones, `nanCount` NaNs, `rowCount` elements in all.
 */
export interface NodeStatistics {
  readonly min?: unknown
  readonly max?: unknown
  readonly nullCount: number
  readonly nanCount?: number | undefined
  readonly rowCount: number
}

/** An array of a tree. */
export interface ArrayNode {
  /** Tells arrays from groups. */
  readonly kind: 'array'
  /** Path within the tree; '' for an array that is the tree. */
  readonly path: string
  /** Last name of the path. */
  readonly name: string
  /** Format in words: `Zarr 3`. */
  readonly title: string
  /** The elements as they are stored, with the attributes as they are stored. */
  readonly array: DiskArray
  /** Attributes, and those that the stored type implies, such as the unit of durations. */
  readonly attrs: NamedValues | undefined
  /** Whether elements are single bytes that stand for characters, to be joined to text. */
  readonly isCharacter: boolean
  /** Whether the last axis has the real and the imaginary parts of complex numbers. Default: false. */
  readonly isComplex?: boolean
  /** Names of its dimensions that can grow. Default: none. */
  readonly unlimited?: readonly string[]
  /** Describes how the array is stored. Reads no chunk. */
  storage(): Promise<StorageInfo>
  /** Returns the stored statistics. Optional: most formats have none. Reads chunks if some are lacking. */
  readonly statistics?: (() => Promise<NodeStatistics>) | undefined
}

/** An axis of a pyramid, as OME-NGFF describes it. */
export interface LevelAxis {
  /** Name of the axis. */
  readonly name: string
  /** Kind of the axis, such as `space`, `time` or `channel`. */
  readonly type?: string
  /** Unit of its coordinates. */
  readonly unit?: string
}

/** One level of a pyramid: the same values at another resolution. */
export interface NodeLevel<N = ArrayNode | GroupNode> {
  /** The array, or the group of arrays, of this resolution. */
  readonly node: N
  /**
   * Distance between elements along each axis: index `i` lies at `scale * i + translation`, in the units of
   * the axes. If the metadata only compare levels, the unit is one element of the level that the others are
   * derived from. Undefined if the metadata do not say.
   */
  readonly scale: readonly number[] | undefined
  /** Position of the first element along each axis; see `scale`. */
  readonly translation: readonly number[] | undefined
}

/** The same values at several resolutions, the finest first. */
export interface NodePyramid<L = NodeLevel> {
  /** Name in the metadata. */
  readonly name?: string | undefined
  /** Axes, if the metadata describe them. */
  readonly axes?: readonly LevelAxis[] | undefined
  /** Levels in the order of the metadata. */
  readonly levels: readonly L[]
}

/** A group of arrays and groups of a tree. */
export interface GroupNode {
  /** Tells groups from arrays. */
  readonly kind: 'group'
  /** Path within the tree; '' for the root. */
  readonly path: string
  /** Last name of the path. */
  readonly name: string
  /** Format in words: `classic NetCDF`, `Zarr 2, consolidated`. */
  readonly title: string
  /** Attributes of the group. */
  readonly attrs: NamedValues
  /** Whether the format has groups. Without them, names of arrays may contain slashes. */
  readonly hasGroups: boolean
  /**
   * Names of the arrays in it that can be read.
   * @throws UnsupportedError if the place cannot be listed, and `names` were not given
   */
  arrays(): Promise<string[]>
  /** Names of the groups in it; as {@link arrays}. */
  groups(): Promise<string[]>
  /** Names of the arrays and groups in it that cannot be read, each with the reason. */
  unreadable(): Promise<ReadonlyMap<string, HyperslabError>>
  /**
   * Opens an array in it by its name or, in groups below, by its path.
   * @throws UnknownArrayError; errors of arrays that cannot be read
   */
  array(path: string): Promise<ArrayNode>
  /**
   * Opens a group in it by its name or its path.
   * @throws UnknownArrayError; InvalidArgumentError for an array, and for formats without groups
   */
  group(path: string): Promise<GroupNode>
  /** Pyramids that the attributes of the group describe. */
  levels(): Promise<readonly NodePyramid[]>
}

/** An open file or store of one format, as its adapter returns it to the tree. */
export interface OpenedNodes<L = never> {
  readonly root: GroupNode | ArrayNode
  /** Warnings about reading it, one a line. */
  readonly warnings: readonly string[]
  /**
   * Returns the keys of the objects whose versions make the version of the given arrays and groups. Optional:
   * the version of a format without it is that of the file.
   */
  versionKeys?(paths: Iterable<string>): readonly string[]
  /** Files of a container. */
  layers?(): readonly L[]
  /** Looks for files beside it that opening does not look for. Returns warnings about them. */
  checkBeside?(): Promise<string[]>
  close(): Promise<void>
}
