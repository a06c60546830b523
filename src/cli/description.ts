import type { Missing } from '../array/missing.ts'
import type { LevelAxis } from '../array/nodes.ts'
import type { NamedValues } from '../array/source.ts'
import { attributeOfJson } from '../copy/json-attributes.ts'
import type { AttributeValue, LayerInfo, Statistics } from '../runtime/index.ts'

/** An attribute with its type. Values that only JSON has stay JSON. */
export type DescribedAttribute = AttributeValue | { readonly type: 'json'; readonly value: unknown }

export type DescribedAttributes = ReadonlyMap<string, DescribedAttribute>

export type DescribedStatistics = Omit<Statistics, 'min' | 'max'> & { readonly min?: unknown; readonly max?: unknown }

/** Description of an array of any format. Unknown members, and those of other formats, are undefined. */
export interface ArrayDescription {
  readonly name: string
  readonly dtype: string
  /** Stored type, if it differs: `float16`, `datetime64[s]`. */
  readonly storedAs?: string | undefined
  readonly shape: readonly number[]
  readonly dimensionNames: readonly string[]
  /** Chunk length along each axis, or the lengths of its chunks. */
  readonly chunkShape: readonly (number | readonly number[])[]
  /** Shard length along each axis, or the lengths of its shards. */
  readonly shardShape?: readonly (number | readonly number[])[] | undefined
  /** Codecs of a chunk, in words. */
  readonly codecs?: string | undefined
  readonly chunks: number
  readonly storedChunks?: number | undefined
  /** Size of the decoded elements. */
  readonly bytes?: number | undefined
  readonly compressedBytes?: number | undefined
  /** Statistics of the values, which have the type `valueType`. */
  readonly statistics?: DescribedStatistics | undefined
  /** Data type of the values, or `date`, whose values are text. */
  readonly valueType: string
  readonly fillValue: unknown
  readonly missing: Missing
  readonly attributes: DescribedAttributes
}

export interface GroupDescription {
  /** Path from the place; '' for the place itself. */
  readonly path: string
  readonly arrays: number
  readonly attributes: DescribedAttributes
}

/** Description of a pyramid, which has the same values at several resolutions. */
export interface PyramidDescription {
  /** Path of the group that describes the pyramid. */
  readonly group: string
  readonly name?: string | undefined
  readonly axes?: readonly LevelAxis[] | undefined
  readonly levels: readonly {
    readonly path: string
    readonly shape?: readonly number[]
    readonly scale?: readonly number[] | undefined
    readonly translation?: readonly number[] | undefined
  }[]
}

export interface Description {
  readonly file: string
  /** Name of the format with details: `Zarr 2, consolidated`. */
  readonly format: string
  readonly arrays: readonly ArrayDescription[]
  readonly attributes: DescribedAttributes
  /** Groups, without the place itself. */
  readonly groups: readonly GroupDescription[]
  readonly pyramids: readonly PyramidDescription[]
  /** Files of a container. */
  readonly layers: readonly LayerInfo[]
  /** Items that cannot be read, with the reasons. */
  readonly unreadable: readonly { readonly name: string; readonly reason: string }[]
  /** Problems with the description, one per line. */
  readonly problems: readonly string[]
}

/** Describes JSON attributes with their types. */
export function describeJson(attrs: NamedValues): DescribedAttributes {
  return new Map(
    [...attrs.keys()].map((name): [string, DescribedAttribute] => {
      const value = attrs.get(name)
      return [name, attributeOfJson(value, true) ?? { type: 'json', value }]
    }),
  )
}
