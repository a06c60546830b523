import type { LayerInfo } from '../../af/file.ts'
import type { AttributeValue } from '../../af/format/footer.ts'
import type { Missing } from '../../array/missing.ts'
import type { ArrayNode, GroupNode, LevelAxis, NodeStatistics } from '../../array/nodes.ts'
import type { NamedValues } from '../../array/source.ts'
import { attributeOfJson } from '../../copy/json-attributes.ts'
import { ReadonlyAttributes } from '../../core/attributes.ts'
import { isHyperslabError } from '../../core/errors.ts'
import type { TypedValues } from '../attributes.ts'
import { DataArray } from '../data-array.ts'
import { decodedStatistics } from './decoded-statistics.ts'
import { elementFormat } from './element-format.ts'
import { decodedVariable } from './tree-array.ts'

/** An attribute with its type. Values that only JSON has stay JSON. */
export type DescribedAttribute = AttributeValue | { readonly type: 'json'; readonly value: unknown }

/** Attributes with their types, by name. */
export type DescribedAttributes = ReadonlyMap<string, DescribedAttribute>

/** Statistics of decoded values. */
export type DescribedStatistics = Omit<NodeStatistics, 'min' | 'max'> & { readonly min?: unknown; readonly max?: unknown }

/** Description of an array of any format. Unknown members, and those of other formats, are undefined. */
export interface ArrayDescription {
  /** Name in the group that was described. */
  readonly name: string
  /** Data type of reads. */
  readonly dtype: string
  /** Stored type, if it differs: `float16`, `datetime64[s]`. */
  readonly storedAs?: string | undefined
  /** Length of each axis. */
  readonly shape: readonly number[]
  /** Names of the axes; empty if they have none. */
  readonly dimensionNames: readonly string[]
  /** Chunk length along each axis, or the lengths of its chunks. */
  readonly chunkShape: readonly (number | readonly number[])[]
  /** Shard length along each axis, or the lengths of its shards. */
  readonly shardShape?: readonly (number | readonly number[])[] | undefined
  /** Codecs of a chunk, in words. */
  readonly codecs?: string | undefined
  /** Number of chunks of the grid. */
  readonly chunks: number
  /** Number of chunks that are stored. */
  readonly storedChunks?: number | undefined
  /** Size of the decoded elements. */
  readonly bytes?: number | undefined
  /** Size of the stored chunks. */
  readonly compressedBytes?: number | undefined
  /** Statistics of the values, which have the type `valueType`. */
  readonly statistics?: DescribedStatistics | undefined
  /** Data type of the values, or `date`, whose values are text. */
  readonly valueType: string
  /** Value of unwritten elements. */
  readonly fillValue: unknown
  /** Values that stand for missing elements. */
  readonly missing: Missing
  /** Attributes with their types. */
  readonly attributes: DescribedAttributes
}

/** Description of a group. */
export interface GroupDescription {
  /** Path from the place; '' for the place itself. */
  readonly path: string
  /** Number of arrays in it. */
  readonly arrays: number
  /** Attributes with their types. */
  readonly attributes: DescribedAttributes
}

/** Description of a pyramid, which has the same values at several resolutions. */
export interface PyramidDescription {
  /** Path of the group that describes the pyramid. */
  readonly group: string
  /** Name in the metadata. */
  readonly name?: string | undefined
  /** Axes, if the metadata describe them. */
  readonly axes?: readonly LevelAxis[] | undefined
  /** Levels in the order of the metadata. */
  readonly levels: readonly {
    readonly path: string
    readonly shape?: readonly number[]
    readonly scale?: readonly number[] | undefined
    readonly translation?: readonly number[] | undefined
  }[]
}

/** Description of all that a tree contains. */
export interface TreeDescription {
  /** Name of the place in messages. */
  readonly file: string
  /** Name of the format with details: `Zarr 2, consolidated`. */
  readonly format: string
  /** Whether the format has groups. */
  readonly hasGroups: boolean
  /** Arrays, those of a group before those of the groups in it. */
  readonly arrays: readonly ArrayDescription[]
  /** Attributes of the group that was described. */
  readonly attributes: DescribedAttributes
  /** Groups, without the place itself. */
  readonly groups: readonly GroupDescription[]
  /** Pyramids that attributes of groups describe. */
  readonly pyramids: readonly PyramidDescription[]
  /** Files of a container. */
  readonly layers: readonly LayerInfo[]
  /** Items that cannot be read, with the reasons. */
  readonly unreadable: readonly { readonly name: string; readonly reason: string }[]
  /** Problems with the description, one per line. */
  readonly problems: readonly string[]
  /** Warnings about files beside the place, and about slow opening, one per line. */
  readonly warnings: readonly string[]
}

/** Describes attributes with their stored types. Those of JSON have the types that its values look like. */
function describeEach(attrs: TypedValues): DescribedAttributes {
  const isOfJson = attrs.isFloat !== undefined
  return new Map(
    [...attrs.keys()].map((name): [string, DescribedAttribute] => {
      const stored = isOfJson ? undefined : attrs.typed?.(name)
      if (stored !== undefined) return [name, stored as DescribedAttribute]
      const value = attrs.get(name)
      return [name, attributeOfJson(value, true) ?? { type: 'json', value }]
    }),
  )
}

/** Describes an array. Adds errors of its statistics to `problems`. */
export async function describeNode(node: ArrayNode, name: string, raw: boolean, problems: string[]): Promise<ArrayDescription> {
  const { array } = node
  const values = await describeValues(node, raw).catch((error: unknown) => {
    if (!isHyperslabError(error)) throw error
    problems.push(error.message)
    return undefined
  })
  return {
    name,
    dtype: array.dtype,
    shape: array.shape,
    dimensionNames: array.dimensionNames ?? [],
    ...(await node.storage()),
    chunks: array.chunks.count,
    statistics: values?.statistics,
    valueType: values?.valueType ?? array.dtype,
    fillValue: array.fillValue,
    missing: array.missing,
    attributes: describeAttributes(array.attrs),
  }
}

/**
 * Returns what is known about the values of an array. If times cannot be decoded, it describes the stored
 * numbers.
 */
async function describeValues(
  { name, array, statistics: stored }: ArrayNode,
  raw: boolean,
): Promise<Pick<ArrayDescription, 'statistics' | 'valueType'>> {
  if (stored === undefined) return { valueType: array.dtype }
  const asStored = async () => ({ statistics: await stored(), valueType: array.dtype })
  if (raw) return asStored()
  try {
    const placed = { name, array }
    const decoded = decodedVariable(placed)
    const statistics = await decodedStatistics(placed, decoded, stored)
    const { dates } = elementFormat(new DataArray(decoded, new Map()))
    const show = (value: unknown): unknown => (value === undefined || dates === undefined ? value : dates.show(value))
    const valueType = dates === undefined ? decoded.array.dtype : 'date'
    return { statistics: statistics && { ...statistics, min: show(statistics.min), max: show(statistics.max) }, valueType }
  } catch (error) {
    if (isHyperslabError(error, 'UnsupportedError')) return asStored()
    throw error
  }
}

/** Describes attributes with their types. JSON has few of them. */
export function describeAttributes(attrs: NamedValues | undefined): DescribedAttributes {
  if (attrs === undefined) return new Map()
  if (!(attrs instanceof ReadonlyAttributes)) return describeEach(attrs)
  return new Map([...attrs.keys()].map((name) => [name, attrs.typed(name) as unknown as DescribedAttribute]))
}

/** Describes the pyramids of a group. */
export async function describePyramids(group: GroupNode, path: string): Promise<PyramidDescription[]> {
  return (await group.levels()).map(({ name, axes, levels }) => ({
    group: path,
    name,
    axes,
    levels: levels.map(({ node, scale, translation }) => ({
      path: node.path.slice(group.path === '' ? 0 : group.path.length + 1),
      ...(node.kind === 'array' && { shape: node.array.shape }),
      scale,
      translation,
    })),
  }))
}
