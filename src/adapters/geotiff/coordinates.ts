import { DiskArray } from '../../array/disk-array.ts'
import type { BlockSource } from '../../array/source.ts'
import { eachIndex } from '../../core/shape.ts'
import { ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { float, type GeotiffAttributes, type ImageAttributes, text, toImageAttributes } from './attributes.ts'
import type { BandMetadata } from './gdal-metadata.ts'
import type { GeoTransform } from './geo.ts'
import type { GeotiffImage } from './image.ts'

/** An array of a group: samples of an image, or coordinates. */
export interface ImageVariable {
  readonly array: DiskArray
  readonly attrs: GeotiffAttributes
  /** Image whose samples it has; undefined for coordinates. */
  readonly image?: GeotiffImage
}

const REFERENCE = 'spatial_ref'

/**
 * Returns the samples of an image as one array; as an array for each band if bands differ in scale, offset,
 * units or description.
 */
export function splitVariables(image: GeotiffImage, name: string): [string, ImageVariable][] {
  const { bands, array } = image
  const whole = array as unknown as DiskArray
  const [first] = bands
  const isAlike = bands.every((band) => DECODING.every((key) => band[key] === first![key]))
  if (isAlike) return [[name, { array: whole, attrs: variableAttributes(image, first!), image }]]
  if (bands.length > MOST_VARIABLES) return [[name, { array: whole, attrs: variableAttributes(image, UNDECODED), image }]]
  return bands.map((band, i) => [
    `band_${i + 1}`,
    { array: whole.view([i]) as DiskArray, attrs: variableAttributes(image, band), image },
  ])
}

/** Largest number of bands that are variables of their own. */
const MOST_VARIABLES = 1024
/** Metadata of more bands than that: their samples stay as they are stored. */
const UNDECODED: BandMetadata = {
  description: `samples as they are stored: more than ${MOST_VARIABLES} bands differ in scale, offset, units or description`,
}

const DECODING = ['scale', 'offset', 'description', 'units'] as const

/** Returns the attributes by which a dataset decodes samples, and finds their coordinates. */
function variableAttributes(image: GeotiffImage, { scale, offset, description, units }: BandMetadata): GeotiffAttributes {
  const attrs: ImageAttributes = new Map()
  const fill = image.attrs.typed('_FillValue')
  if (fill !== undefined) attrs.set('_FillValue', fill)
  // GDAL stores these for all bands if one has them.
  if (scale !== undefined && scale !== 1) attrs.set('scale_factor', float(scale))
  if (offset !== undefined && offset !== 0) attrs.set('add_offset', float(offset))
  if (description !== undefined) attrs.set('long_name', text(description))
  if (units !== undefined && units !== '') attrs.set('units', text(units))
  if (image.crs !== undefined) attrs.set('grid_mapping', text(REFERENCE))
  if (isRotated(image.transform)) attrs.set('coordinates', text('yc xc'))
  return toImageAttributes(attrs)
}

const isRotated = (transform: GeoTransform | undefined): boolean =>
  transform !== undefined && (transform[1] !== 0 || transform[3] !== 0)

/** Returns the numbers of bands, the coordinates of the centres of pixels, and the reference system. */
export function createCoordinates(image: GeotiffImage): [string, ImageVariable][] {
  const { shape, dimensionNames } = image.array
  const y = dimensionNames!.indexOf('y')
  const [height, width] = shape.slice(y) as [number, number]
  const variables: [string, ImageVariable][] = []
  const add = (name: string, array: DiskArray, attrs: ImageAttributes): void => {
    variables.push([name, { array, attrs: toImageAttributes(attrs) }])
  }
  if (y > 0)
    add(
      'band',
      computed('int32', ['band'], [shape[0]!], (band) => band + 1),
      new Map(),
    )
  const { transform } = image
  if (transform !== undefined) {
    const [a, b, c, d, e, f] = transform
    if (isRotated(transform)) {
      const place = ([u, v, w]: readonly [number, number, number]): DiskArray =>
        computed('float64', ['y', 'x'], [height, width], (row, column) => u * (column! + 0.5) + v * (row + 0.5) + w)
      add('yc', place([d, e, f]), axisAttributes(image, 'y'))
      add('xc', place([a, b, c]), axisAttributes(image, 'x'))
    } else {
      add(
        'y',
        computed('float64', ['y'], [height], (row) => e * (row + 0.5) + f),
        axisAttributes(image, 'y'),
      )
      add(
        'x',
        computed('float64', ['x'], [width], (column) => a * (column + 0.5) + c),
        axisAttributes(image, 'x'),
      )
    }
  }
  if (image.crs !== undefined)
    add(
      REFERENCE,
      computed('int32', [], [], () => 0),
      referenceAttributes(image),
    )
  return variables
}

/** Elements of a chunk of coordinates along one axis. They are computed with every read. */
const CHUNK_LENGTH = 1024

/** Creates an array whose elements are computed from their index, by a source that is small to load. */
function computed(
  dtype: 'float64' | 'int32',
  dimensionNames: readonly string[],
  shape: readonly number[],
  fn: (first: number, second: number) => number,
): DiskArray {
  const readBlock: BlockSource<'float64'>['readBlock'] = ([first, second], out) => {
    eachIndex(out.shape, ([i = 0, j = 0]) => {
      const [down = 0, along = 0] = out.stride
      const at = (axis: typeof first, index: number): number => (axis === undefined ? 0 : axis.start + index * axis.step)
      out.data[out.offset + i * down + j * along] = fn(at(first, i), at(second, j))
    })
  }
  const chunks = new ChunkGrid(shape.map((length) => new RegularChunks(Math.min(CHUNK_LENGTH, length), length)))
  return new DiskArray({ dtype: dtype as 'float64', shape, dimensionNames, chunks, capabilities: { steps: true }, readBlock })
}

/** Units of projected coordinates, by the GeoTIFF key of linear units. */
const LINEAR_UNITS: Readonly<Record<number, string>> = { 9001: 'm', 9002: 'foot', 9003: 'US_survey_foot' }

function axisAttributes({ crs }: GeotiffImage, axis: 'x' | 'y'): ImageAttributes {
  const attrs: ImageAttributes = new Map()
  if (crs?.kind === 'projected') {
    attrs.set('standard_name', text(`projection_${axis}_coordinate`))
    const units = LINEAR_UNITS[Number(crs.keys.get('ProjLinearUnitsGeoKey'))]
    if (units !== undefined) attrs.set('units', text(units))
  }
  if (crs?.kind === 'geographic') {
    attrs.set('standard_name', text(axis === 'x' ? 'longitude' : 'latitude'))
    attrs.set('units', text(axis === 'x' ? 'degrees_east' : 'degrees_north'))
  }
  attrs.set('axis', text(axis.toUpperCase()))
  return attrs
}

/** Returns the EPSG number, the transform as GDAL orders it, and the GeoTIFF keys. */
function referenceAttributes({ crs, transform }: GeotiffImage): ImageAttributes {
  const attrs: ImageAttributes = new Map()
  if (crs!.epsg !== undefined) attrs.set('epsg_code', text(`EPSG:${crs!.epsg}`))
  if (transform !== undefined) {
    const [a, b, c, d, e, f] = transform
    attrs.set('GeoTransform', text([c, a, b, f, d, e].join(' ')))
  }
  for (const [name, value] of crs!.keys)
    attrs.set(
      name,
      typeof value === 'string'
        ? text(value)
        : typeof value === 'number'
          ? float(value)
          : { type: 'float64[]', value: Float64Array.from(value) },
    )
  return attrs
}
