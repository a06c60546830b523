/**
 * Reads TIFF files, such as GeoTIFFs and COGs, as lazy arrays.
 * @module hyperslab/geotiff
 */

export type { GeotiffAttribute, GeotiffAttributes } from '../adapters/geotiff/attributes.ts'
export type { BandMetadata } from '../adapters/geotiff/gdal-metadata.ts'
export type { GeoTransform, GeotiffCrs, GroundControlPoint } from '../adapters/geotiff/geo.ts'
export type { GeotiffArray, GeotiffImage } from '../adapters/geotiff/image.ts'
export type { GeotiffFile, GeotiffLimits, OpenGeotiffOptions } from '../adapters/geotiff/open.ts'
export { type GeotiffOptions, openGeotiff } from '../tree/open-geotiff.ts'
