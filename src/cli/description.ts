import type { LevelAxis } from '../adapters/zarr/levels.ts'
import type { Missing } from '../array/missing.ts'
import type { NamedValues } from '../array/source.ts'
import type { AttributeValue, LayerInfo, Statistics } from '../runtime/index.ts'
import { attributeOfJson } from '../runtime/json-attributes.ts'

/** An attribute with its type; what no other format than JSON has stays JSON. */
export type DescribedAttribute = AttributeValue | { readonly type: 'json'; readonly value: unknown }

export type DescribedAttributes = ReadonlyMap<string, DescribedAttribute>

export type DescribedStatistics = Omit<Statistics, 'min' | 'max'> & { readonly min?: unknown; readonly max?: unknown }

/** An array of any format. What is not known, or of another format, is left out. */
export interface ArrayDescription {
  readonly name: string
  readonly dtype: string
  /** How an element is stored, where that is another type: `float16`, `datetime64[s]`. */
  readonly storedAs?: string
  readonly shape: readonly number[]
  readonly dimensionNames: readonly string[]
  /** Along each axis the length of all chunks, or of each. */
  readonly chunkShape: readonly (number | readonly number[])[]
  /** The same of shards, which hold several chunks. */
  readonly shardShape?: readonly (number | readonly number[])[]
  /** What encodes a chunk, in few words. */
  readonly codecs?: string
  readonly chunks: number
  readonly storedChunks?: number
  /** Of the elements, as they are read. */
  readonly bytes?: number
  readonly compressedBytes?: number
  /** Of the values as `valueType`, which those that are stored stand for. */
  readonly statistics?: DescribedStatistics | undefined
  /** A data type, or `date`, which is written as text. */
  readonly valueType: string
  readonly fillValue: unknown
  readonly missing: Missing
  readonly attributes: DescribedAttributes
}

/** A group of arrays and groups. */
export interface GroupDescription {
  /** The path from the place; '' for the place itself. */
  readonly path: string
  readonly arrays: number
  readonly attributes: DescribedAttributes
}

/** The same values at several resolutions. */
export interface PyramidDescription {
  /** The path of the group that describes it. */
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
  /** The name of the format, and what there is to know of it: `Zarr 2, consolidated`. */
  readonly format: string
  readonly arrays: readonly ArrayDescription[]
  readonly attributes: DescribedAttributes
  /** Of a format that has groups, all but the place itself. */
  readonly groups: readonly GroupDescription[]
  readonly pyramids: readonly PyramidDescription[]
  /** The files of a container. */
  readonly layers: readonly LayerInfo[]
  /** What is there and cannot be read, with the reason. */
  readonly unreadable: readonly { readonly name: string; readonly reason: string }[]
  /** What could not be told, one line each. */
  readonly problems: readonly string[]
}

/** Attributes of JSON, with types. */
export function describeJson(attrs: NamedValues): DescribedAttributes {
  return new Map(
    [...attrs.keys()].map((name): [string, DescribedAttribute] => {
      const value = attrs.get(name)
      return [name, attributeOfJson(value, true) ?? { type: 'json', value }]
    }),
  )
}
