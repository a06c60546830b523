import { ReadonlyAttributes } from '../../core/attributes.ts'
import type { FixedDType, TypedArray } from '../../core/dtype.ts'
import type { TagValues } from './directory.ts'
import type { GdalMetadata } from './gdal-metadata.ts'
import { TAG } from './tags.ts'

/** Value of an attribute with its type. */
export type GeotiffAttribute =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: FixedDType; readonly value: number | bigint }
  | { readonly type: `${FixedDType}[]`; readonly value: TypedArray }

/** Attributes of a TIFF image, by name. */
export type GeotiffAttributes = ReadonlyAttributes<GeotiffAttribute>

const TEXTS = [
  [TAG.documentName, 'DocumentName'],
  [TAG.description, 'ImageDescription'],
  [TAG.make, 'Make'],
  [TAG.model, 'Model'],
  [TAG.software, 'Software'],
  [TAG.dateTime, 'DateTime'],
  [TAG.artist, 'Artist'],
  [TAG.hostComputer, 'HostComputer'],
  [TAG.copyright, 'Copyright'],
] as const

const PHOTOMETRIC = ['MinIsWhite', 'MinIsBlack', 'RGB', 'Palette', 'TransparencyMask', 'CMYK', 'YCbCr', undefined, 'CIELab']

/** Attributes by name, to be added to. */
export type ImageAttributes = Map<string, GeotiffAttribute>

export const text = (value: string): GeotiffAttribute => ({ type: 'string', value })
export const float = (value: number): GeotiffAttribute => ({ type: 'float64', value })

/** Returns the attributes of an image: items of GDAL's metadata, texts, colours and coefficients. */
export function imageAttributes(tags: TagValues, { items }: GdalMetadata): ImageAttributes {
  const attributes: ImageAttributes = new Map([...items].map(([name, value]) => [name, text(value)]))
  for (const [tag, name] of TEXTS) {
    const value = tags.text(tag)
    if (value !== undefined && value !== '') attributes.set(name, text(value))
  }
  const photometric = tags.number(TAG.photometric)
  if (photometric !== undefined)
    attributes.set('PhotometricInterpretation', text(PHOTOMETRIC[photometric] ?? String(photometric)))
  const lists = [
    [TAG.orientation, 'Orientation'],
    [TAG.extraSamples, 'ExtraSamples'],
    [TAG.colorMap, 'ColorMap'],
  ] as const
  for (const [tag, name] of lists) {
    const values = tags.numbers(tag)
    if (values !== undefined && (tag !== TAG.orientation || values[0] !== 1))
      attributes.set(name, { type: 'uint16[]', value: Uint16Array.from(values) })
  }
  const rpc = tags.numbers(TAG.rpc)
  if (rpc !== undefined) attributes.set('RPCCoefficientTag', { type: 'float64[]', value: Float64Array.from(rpc) })
  return attributes
}

export const toImageAttributes = (map: ReadonlyMap<string, GeotiffAttribute>): GeotiffAttributes =>
  new ReadonlyAttributes(() => map)
