import { isHyperslabError } from '../../core/errors.ts'
import { kept, readOnce } from '../../core/kept.ts'
import { decodeAttribute, type Hdf5Attribute, type Hdf5Attributes, type StoredAttribute } from './attributes.ts'
import { Cursor, copyCursor, damaged } from './cursor.ts'
import { LIMITS } from './limits.ts'
import type { ObjectHeader } from './object-header.ts'
import type { Objects } from './objects.ts'

/** Value of `CLASS` that marks a dimension scale. */
const SCALE = 'DIMENSION_SCALE'
/** Start of the name of a scale that is no variable, as netCDF writes it. */
const NO_VARIABLE = 'This is a netCDF dimension but not a netCDF variable'
/** Prefix of the stored names of variables that are named like a dimension which is not theirs. */
const NOT_COORDINATE = '_nc4_non_coord_'
/** Attributes by which netCDF stores dimensions and its own version. */
export const HIDDEN: ReadonlySet<string> = new Set([
  'DIMENSION_LIST',
  'REFERENCE_LIST',
  '_NCProperties',
  '_Netcdf4Coordinates',
  '_Netcdf4Dimid',
  '_nc3_strict',
])

/** Groups whose scales are kept. */
const MAX_GROUPS = 10_000

/** Attributes that only netCDF writes, to the root and to arrays. */
const OF_NETCDF = ['_NCProperties', '_nc3_strict', '_Netcdf4Dimid', '_Netcdf4Coordinates']

/** Whether one of the names is that of an attribute which netCDF alone writes. */
export const hasNetcdfMark = (names: Iterable<string>): boolean => Array.from(names).some((name) => OF_NETCDF.includes(name))

/** A dimension: an array that is marked as the scale of an axis. */
export interface DimensionScale {
  readonly name: string
  readonly address: number
  /** Number that netCDF gives a dimension. Optional: other programs omit it. */
  readonly id: number | undefined
  /** Whether the scale is a variable, too, and not only the length of an axis. */
  readonly isVariable: boolean
  /** Whether the dimension is unlimited. Arrays along it may have different lengths then. */
  readonly isUnlimited: boolean
  /** Length of the scale itself. */
  readonly length: number
}

/** Returns the name of a variable by the name of its link. */
export const variableName = (link: string): string => (link.startsWith(NOT_COORDINATE) ? link.slice(NOT_COORDINATE.length) : link)

/** Returns the attributes of a node without those by which the format stores dimensions. */
export function visibleAttributes(attrs: Hdf5Attributes): Hdf5Attributes {
  const isScale = attrs.get('CLASS') === SCALE
  return attrs.without((name) => HIDDEN.has(name) || (isScale && (name === 'CLASS' || name === 'NAME')))
}

/**
 * Names of dimensions in a file, by dimension scales (HDF5 Dimension Scale Specification) and by the
 * attributes that netCDF adds to them (NetCDF-4 file format).
 */
export class Dimensions {
  readonly #objects: Objects
  /** Scales of groups, by the addresses of the groups. */
  readonly #scales = new Map<number, Promise<readonly DimensionScale[]>>()

  /** Largest lengths along the dimensions of groups, by the addresses of the groups. */
  readonly #longest = new Map<number, Promise<ReadonlyMap<number, number>>>()

  /** Whether netCDF has written the file, by the attributes of its root. */
  readonly isNetcdf: () => Promise<boolean>

  /** @param root address of the root group */
  constructor(objects: Objects, root: number) {
    this.#objects = objects
    this.isNetcdf = readOnce(async () => {
      const stored = await objects.storedAttributes(await objects.header(root))
      return hasNetcdfMark(stored.map(({ name }) => name))
    })
  }

  /** Returns the dimension scales in a group, in the order of its links. */
  scales(group: ObjectHeader): Promise<readonly DimensionScale[]> {
    return kept(this.#scales, group.address, () => this.#readScales(group), MAX_GROUPS)
  }

  async #readScales(group: ObjectHeader): Promise<readonly DimensionScale[]> {
    const objects = this.#objects
    const links = [...(await objects.links(group))]
    const found = await Promise.all(
      links.map(async ([name, link]): Promise<DimensionScale | undefined> => {
        if (link.kind !== 'hard') return undefined
        const header = await objects.header(link.address)
        if (objects.classify(header) !== 'dataset') return undefined
        const stored = await objects.storedAttributes(header)
        if (!(await this.isScale(stored))) return undefined
        const [label, id] = await Promise.all([this.#value(stored, 'NAME'), this.#value(stored, '_Netcdf4Dimid')])
        const isVariable = !(typeof label === 'string' && label.startsWith(NO_VARIABLE))
        const { shape = [], maxShape } = await objects.dataspace(header)
        return {
          name,
          address: header.address,
          id: typeof id === 'number' ? id : undefined,
          isVariable,
          isUnlimited: maxShape.length > 0 && maxShape[0] === undefined,
          length: shape[0] ?? 0,
        }
      }),
    )
    return found.filter((each) => each !== undefined)
  }

  /** Whether attributes mark an array as a dimension scale. */
  async isScale(stored: readonly StoredAttribute[]): Promise<boolean> {
    return (await this.#value(stored, 'CLASS')) === SCALE
  }

  /**
   * Returns the names of the axes of an array; '' for axes without a dimension.
   * @param shape of the array, without the axes in its elements
   * @param groups groups that contain the array, the root first
   * @throws FormatError if the references to dimensions are damaged
   */
  async names(header: ObjectHeader, shape: readonly number[], groups: readonly ObjectHeader[]): Promise<string[]> {
    return (await this.#axes(header, shape, groups)).map((scale) => scale?.name ?? '')
  }

  /**
   * Returns the shape of an array as netCDF has it: along an unlimited dimension, an array has the length of
   * the longest one in the group of the dimension and below.
   */
  async fullShape(header: ObjectHeader, shape: readonly number[], groups: readonly ObjectHeader[]): Promise<number[]> {
    const scales = await this.#axes(header, shape, groups)
    return Promise.all(
      shape.map(async (length, axis) => {
        const scale = scales[axis]
        return scale?.isUnlimited ? Math.max(length, (await this.#lengths(scale, groups)) ?? 0) : length
      }),
    )
  }

  /** Returns the length of an unlimited dimension of one of some groups, the root first. */
  async #lengths({ address }: DimensionScale, groups: readonly ObjectHeader[]): Promise<number | undefined> {
    for (let depth = groups.length; depth > 0; depth--) {
      const own = groups.slice(0, depth)
      const group = own.at(-1)!
      if (!(await this.scales(group)).some((scale) => scale.address === address)) continue
      return (await kept(this.#longest, group.address, () => this.#findLongest(own), MAX_GROUPS)).get(address)
    }
    return undefined
  }

  /** Returns the largest lengths along dimensions of the arrays in a group and in all groups below. */
  async #findLongest(groups: readonly ObjectHeader[]): Promise<ReadonlyMap<number, number>> {
    const objects = this.#objects
    const longest = new Map<number, number>()
    const visited = new Set<number>()
    const visit = async (path: readonly ObjectHeader[]): Promise<void> => {
      const group = path.at(-1)!
      if (visited.has(group.address) || path.length > LIMITS.pathNames) return
      visited.add(group.address)
      const links = [...(await objects.links(group)).values()]
      await Promise.all(
        links.map(async (link) => {
          if (link.kind !== 'hard') return
          try {
            const header = await objects.header(link.address)
            const kind = objects.classify(header)
            if (kind === 'group') return await visit([...path, header])
            if (kind !== 'dataset') return
            const { shape = [] } = await objects.dataspace(header)
            for (const [axis, scale] of (await this.#axes(header, shape, path)).entries())
              if (scale !== undefined)
                longest.set(scale.address, Math.max(longest.get(scale.address) ?? scale.length, shape[axis]!))
          } catch (error) {
            // Arrays that cannot be read are no variables.
            if (!isHyperslabError(error, 'FormatError', 'UnsupportedError', 'IntegrityError')) throw error
          }
        }),
      )
    }
    await visit(groups)
    return longest
  }

  /** Returns the dimension of each axis of an array. */
  async #axes(
    header: ObjectHeader,
    shape: readonly number[],
    groups: readonly ObjectHeader[],
  ): Promise<(DimensionScale | undefined)[]> {
    const stored = await this.#objects.storedAttributes(header)
    const list = stored.find(({ name }) => name === 'DIMENSION_LIST')
    const ids = numbersIn(await this.#value(stored, '_Netcdf4Coordinates'))
    const isScale = await this.isScale(stored)
    if (list === undefined && ids.length === 0 && !isScale) return shape.map(() => undefined)
    // Dimensions of inner groups come first, because they hide those of the same name outside.
    const scales = (await Promise.all([...groups].reverse().map((group) => this.scales(group)))).flat()
    // As netCDF itself does: numbers are in the header, references are not.
    const numbered = ids.length === shape.length ? ids.map((id) => scales.filter((each) => each.id === id)) : []
    if (shape.length > 0 && numbered.length > 0 && numbered.every(({ length }) => length === 1))
      return numbered.map(([scale]) => scale)
    const attached = list === undefined ? [] : await this.#references(list)
    const own = scales.find(({ address }) => address === header.address)
    return shape.map((_, axis) => {
      const scale = attached[axis]?.map((address) => scales.find((each) => each.address === address)).find(Boolean)
      if (scale !== undefined) return scale
      if (isScale && axis === 0 && own !== undefined) return own
      const named = numbered[axis]
      return named?.length === 1 ? named[0] : undefined
    })
  }

  async #value(stored: readonly StoredAttribute[], name: string): Promise<unknown> {
    const found = stored.find((each) => each.name === name)
    if (found === undefined) return undefined
    const { value }: Hdf5Attribute = await decodeAttribute(found, this.#objects)
    return value
  }

  /** Returns the addresses of the scales of each axis: lists of variable length of object references. */
  async #references({ type, space, data }: StoredAttribute): Promise<number[][]> {
    const { offsets, lengths } = data.sizes
    if (type.kind !== 'vlen') return []
    const bytes = 8 + offsets
    const count = space.shape?.[0] ?? 0
    if (count * bytes > data.left) damaged(`the dimensions of ${count} axes have ${data.left} bytes`, data.start, count)
    const values = await this.#objects.heap.values(copyCursor(data), count, offsets)
    return values.map((value) => {
      const addresses = new Cursor(value, { offsets, lengths }, data.start)
      return Array.from({ length: Math.floor(value.length / offsets) }, () => addresses.address() ?? -1)
    })
  }
}

const numbersIn = (value: unknown): readonly number[] => {
  if (typeof value === 'number') return [value]
  return ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<number>, Number) : []
}

/**
 * Names axes without dimensions, as netCDF does: `phony_dim_N`. Arrays of a group share one name for each
 * length, and an array has each name once.
 */
export class PhonyNames {
  readonly #names: { readonly name: string; readonly length: number }[] = []
  #next: number

  /** @param first number of the first name: that of all dimensions before it */
  constructor(first: number) {
    this.#next = first
  }

  /** Completes the names of an array. */
  complete(names: readonly string[], shape: readonly number[]): string[] {
    const used = new Set<string>()
    return shape.map((length, axis) => {
      const given = names[axis] ?? ''
      if (given !== '') return given
      const known = this.#names.find((each) => each.length === length && !used.has(each.name))
      const name = known?.name ?? `phony_dim_${this.#next++}`
      if (known === undefined) this.#names.push({ name, length })
      used.add(name)
      return name
    })
  }
}
