import { bytesOf } from '../array/source.ts'
import { sizeOf } from '../core/shape.ts'
import { TypedValue } from '../core/typed-value.ts'
import type { ExportedArray, ZarrExport } from './stored-arrays.ts'

/** Size up to which a coordinate along one dimension is one chunk, in bytes. */
const LABELS_BYTES = 4 * 2 ** 20
/** Least size of chunks of bounds, in bytes. */
const BOUNDS_BYTES = 2 ** 20

/** Attributes by which CF names the bounds of a coordinate. */
const BOUNDS = ['bounds', 'climatology']

/**
 * Gives coordinates along one dimension, and bounds, chunks of their own. Opening a dataset reads all labels,
 * so in chunks like those of the data (`time: 1`) each label would take a request.
 */
export function withCoordinateChunks(content: ZarrExport): ZarrExport {
  const coordinates = new Set(namesIn(content, 'coordinates'))
  const labels = new Set(
    content.arrays.filter(
      ({ name, dimensionNames }) =>
        isLabels(name, dimensionNames) || (dimensionNames.length === 1 && coordinates.has(ownName(name))),
    ),
  )
  const bounds = new Set(BOUNDS.flatMap((key) => [...labels].flatMap((each) => textsOf(each.attributes, key))))
  const arrays = content.arrays.map((each): ExportedArray => {
    if (each.hasOwnChunks) return each
    if (labels.has(each)) return { ...each, hasOwnChunks: true, chunkShape: labelChunks(each) }
    return bounds.has(ownName(each.name))
      ? { ...each, hasOwnChunks: true, chunkShape: rows(each, BOUNDS_BYTES, Math.ceil) }
      : each
  })
  return { ...content, arrays }
}

/** Whether an array has the labels of its dimension: it has the name of the dimension. */
export const isLabels = (name: string, dimensionNames: readonly string[]): boolean =>
  dimensionNames.length === 1 && dimensionNames[0] === ownName(name)

const ownName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** Returns the chunk shape of labels: one chunk, if it is not too large. */
export const labelChunks = (labels: Pick<ExportedArray, 'array'>): number[] => rows(labels, LABELS_BYTES, Math.floor)

/** Returns a chunk shape of whole rows along the first axis that take some bytes. */
function rows(
  { array: { shape, dtype } }: Pick<ExportedArray, 'array'>,
  bytes: number,
  round: (value: number) => number,
): number[] {
  const [length = 1, ...others] = shape
  const rowBytes = Math.max(1, bytesOf(dtype) * sizeOf(others))
  return [Math.max(1, Math.min(length, round(bytes / rowBytes))), ...others.map((each) => Math.max(1, each))].slice(
    0,
    shape.length,
  )
}

/** Returns the words of an attribute of all arrays and of the content itself. */
const namesIn = ({ attributes, arrays }: ZarrExport, key: string): string[] =>
  [attributes, ...arrays.map((each) => each.attributes)].flatMap((each) => textsOf(each, key))

function textsOf(attributes: ReadonlyMap<string, unknown>, key: string): string[] {
  const given = attributes.get(key)
  const text = given instanceof TypedValue ? given.value : given
  return typeof text === 'string' ? text.split(/\s+/).filter((name) => name !== '') : []
}
