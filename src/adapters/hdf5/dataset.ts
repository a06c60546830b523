import { sizeOf } from '../../core/shape.ts'
import { type Cursor, damaged } from './cursor.ts'
import type { Filter } from './filters/index.ts'
import { type Dataspace, parseDataspace } from './messages/dataspace.ts'
import { type Datatype, parseDatatype } from './messages/datatype.ts'
import type { RawPart } from './messages/external-files.ts'
import { type Fill, NO_FILL, parseFill, parseOldFill } from './messages/fill.ts'
import { parseFilters } from './messages/filters.ts'
import { type Layout, parseLayout } from './messages/layout.ts'
import { MESSAGE, type ObjectHeader } from './object-header.ts'
import type { Objects } from './objects.ts'

/** Content of the header of an array. */
export interface ArrayHeader {
  readonly header: ObjectHeader
  readonly type: Datatype
  readonly space: Dataspace
  readonly layout: Layout
  readonly fill: Fill
  readonly filters: readonly Filter[]
  /** Files that hold the elements, one after another. */
  readonly rawData?: readonly RawPart[]
}

/**
 * Parses the header of an array.
 * @throws FormatError if it is damaged; UnsupportedError for what is not read
 */
export async function readDataset(objects: Objects, header: ObjectHeader): Promise<ArrayHeader> {
  const [typeData, spaceData, layoutData, filterData, fillData, oldFill] = await Promise.all([
    objects.required(header, MESSAGE.datatype, 'datatype'),
    objects.required(header, MESSAGE.dataspace, 'dataspace'),
    objects.required(header, MESSAGE.layout, 'data layout'),
    objects.message(header, MESSAGE.filters),
    objects.message(header, MESSAGE.fill),
    objects.message(header, MESSAGE.oldFill),
  ])
  const type = parseDatatype(typeData)
  const space = parseDataspace(spaceData)
  const layout = parseLayout(layoutData)
  if (type.size < 1) damaged('elements have no bytes', typeData.start)
  checkLayout(layout, type, space, layoutData)
  const fill = fillData !== undefined ? parseFill(fillData) : oldFill !== undefined ? parseOldFill(oldFill) : NO_FILL
  if (fill.bytes !== undefined && fill.bytes.length !== type.size)
    damaged(`a fill value of ${fill.bytes.length} bytes for elements of ${type.size}`, header.address)
  const filters = filterData === undefined ? [] : parseFilters(filterData)
  const parts = await objects.message(header, MESSAGE.externalFiles)
  if (parts === undefined) return { header, type, space, layout, fill, filters }
  if (layout.kind !== 'contiguous') damaged('elements in other files, and a layout in this one', parts.start)
  const { readExternalFiles } = await import('./messages/external-files.ts')
  return { header, type, space, layout, fill, filters, rawData: await readExternalFiles(objects.file, parts) }
}

/** @throws FormatError if the layout does not fit the elements */
function checkLayout(layout: Layout, type: Datatype, { shape = [0] }: Dataspace, { start }: Cursor): void {
  const bytes = sizeOf(shape) * type.size
  if (layout.kind === 'compact' && layout.bytes.length < bytes)
    damaged(`${layout.bytes.length} bytes for elements of ${bytes}`, start, layout.bytes.length)
  if (layout.kind === 'contiguous' && layout.address !== undefined && layout.bytes !== undefined && layout.bytes < bytes)
    damaged(`${layout.bytes} bytes for elements of ${bytes}`, start, layout.bytes)
  if (layout.kind !== 'chunked') return
  if (layout.chunkShape.length !== shape.length)
    damaged(`chunks of ${layout.chunkShape.length} axes in an array of ${shape.length}`, start, layout.chunkShape)
  if (layout.elementBytes !== type.size)
    damaged(`chunks of elements of ${layout.elementBytes} bytes instead of ${type.size}`, start)
}
