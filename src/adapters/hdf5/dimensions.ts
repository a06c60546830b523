import { decodeAttribute, type Hdf5Attribute, type Hdf5Attributes, type StoredAttribute } from './attributes.ts'
import { Cursor, damaged } from './cursor.ts'
import { kept, readOnce } from './kept.ts'
import type { ObjectHeader } from './object-header.ts'
import type { Objects } from './objects.ts'

/** Value of `CLASS` that marks a dimension scale. */
const SCALE = 'DIMENSION_SCALE'
/** Start of the name of a scale that is no variable, as netCDF writes it. */
const NO_VARIABLE = 'This is a netCDF dimension but not a netCDF variable'
/** Prefix of the stored names of variables that are named like a dimension which is not theirs. */
const NOT_COORDINATE = '_nc4_non_coord_'
/** Attributes by which netCDF stores dimensions and its own version. */
const HIDDEN = new Set([
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

/** Whether one of the attributes is written by netCDF alone. */
export const hasNetcdfMark = (attributes: Iterable<{ readonly name: string }>): boolean =>
  Array.from(attributes).some(({ name }) => OF_NETCDF.includes(name))

/** A dimension: an array that is marked as the scale of an axis. */
export interface DimensionScale {
  readonly name: string
  readonly address: number
  /** Number that netCDF gives a dimension. Optional: other programs omit it. */
  readonly id: number | undefined
  /** Whether the scale is a variable, too, and not only the length of an axis. */
  readonly isVariable: boolean
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

  /** Whether netCDF has written the file, by the attributes of its root. */
  readonly isNetcdf: () => Promise<boolean>

  /** @param root address of the root group */
  constructor(objects: Objects, root: number) {
    this.#objects = objects
    this.isNetcdf = readOnce(async () => hasNetcdfMark(await objects.storedAttributes(await objects.header(root))))
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
        return { name, address: header.address, id: typeof id === 'number' ? id : undefined, isVariable }
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
    const stored = await this.#objects.storedAttributes(header)
    const list = stored.find(({ name }) => name === 'DIMENSION_LIST')
    const ids = numbersIn(await this.#value(stored, '_Netcdf4Coordinates'))
    const isScale = await this.isScale(stored)
    if (list === undefined && ids.length === 0 && !isScale) return shape.map(() => '')
    // Dimensions of inner groups come first, because they hide those of the same name outside.
    const scales = (await Promise.all([...groups].reverse().map((group) => this.scales(group)))).flat()
    const attached = list === undefined ? [] : await this.#references(list)
    const own = scales.find(({ address }) => address === header.address)?.name
    return shape.map((_, axis) => {
      const scale = attached[axis]?.map((address) => scales.find((each) => each.address === address)).find(Boolean)
      if (scale !== undefined) return scale.name
      if (isScale && axis === 0 && own !== undefined) return own
      const named = ids.length === shape.length ? scales.filter(({ id }) => id === ids[axis]) : []
      return named.length === 1 ? named[0]!.name : ''
    })
  }

  async #value(stored: readonly StoredAttribute[], name: string): Promise<unknown> {
    const found = stored.find((each) => each.name === name)
    if (found === undefined) return undefined
    const { value }: Hdf5Attribute = await decodeAttribute({ ...found, data: copied(found.data) }, this.#objects)
    return value
  }

  /** Returns the addresses of the scales of each axis: lists of variable length of object references. */
  async #references({ type, space, data }: StoredAttribute): Promise<number[][]> {
    const { offsets, lengths } = data.sizes
    if (type.kind !== 'vlen') return []
    const bytes = 8 + offsets
    const count = space.shape?.[0] ?? 0
    if (count * bytes > data.left) damaged(`the dimensions of ${count} axes have ${data.left} bytes`, data.start, count)
    const values = await this.#objects.heap.values(copied(data), count, offsets)
    return values.map((value) => {
      const addresses = new Cursor(value, { offsets, lengths }, data.start)
      return Array.from({ length: Math.floor(value.length / offsets) }, () => addresses.address() ?? -1)
    })
  }
}

const copied = ({ bytes, sizes, start, at }: Cursor): Cursor => new Cursor(bytes.subarray(at), sizes, start + at)

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
