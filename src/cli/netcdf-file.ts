import type { NetcdfFile } from '../adapters/netcdf/index.ts'
import { elementBytes, isFixed } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { openNetcdf } from '../runtime/netcdf.ts'
import type { ArrayDescription, DescribedAttribute, DescribedAttributes, Description } from './description.ts'
import type { ReadingOptions } from './options.ts'
import type { Place, PlaceContents, PlacedArray } from './place.ts'

class NetcdfPlace implements Place {
  readonly location: string
  readonly #file: NetcdfFile

  constructor(location: string, file: NetcdfFile) {
    this.location = location
    this.#file = file
  }

  async array(name: string): Promise<PlacedArray> {
    return { name, array: this.#file.variable(name) }
  }

  async arraysBeside(): Promise<readonly PlacedArray[]> {
    return this.#file.variables.map((array) => ({ name: array.name, array }))
  }

  async contents(): Promise<PlaceContents> {
    return { arrays: await this.arraysBeside(), groups: new Map([['', this.#file.attrs]]), leftOut: [] }
  }

  async describe(): Promise<Description> {
    const arrays = this.#file.variables.map((array): ArrayDescription => {
      const { name, dtype, shape, chunks } = array
      return {
        name,
        dtype,
        shape,
        dimensionNames: array.dimensionNames ?? [],
        chunkShape: chunks.chunkShape,
        chunks: chunks.count,
        ...(isFixed(dtype) && { bytes: array.size * elementBytes(dtype) }),
        valueType: dtype,
        fillValue: array.fillValue,
        missing: array.missing,
        attributes: attributesOf(array.attrs),
      }
    })
    const nothing = { groups: [], pyramids: [], layers: [], unreadable: [], problems: [] }
    return { file: this.location, format: 'classic NetCDF', arrays, attributes: attributesOf(this.#file.attrs), ...nothing }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file.close()
  }
}

const attributesOf = (attrs: NetcdfFile['attrs']): DescribedAttributes =>
  new Map([...attrs.keys()].map((name) => [name, attrs.typed(name) as DescribedAttribute]))

export const openNetcdfFile = async (location: string, reading: ReadingOptions = {}): Promise<Place> =>
  new NetcdfPlace(location, await openNetcdf(location, reading))

/** Returns the error of commands that need a container. */
export function importFirst(file: string, why: string): HyperslabError {
  const text = `this is a classic NetCDF file, ${why}; import it first: hyperslab import ${file} out.af`
  return new HyperslabError('UnsupportedError', text, { file })
}
