// Shows variables other than planes: one-dimensional ones as lines, texts and single values as text.
import type { DataArray } from 'hyperslab/dataset'
import type { Axis } from './axes.ts'
import { byId } from './dom.ts'
import { toFloats } from './frame.ts'
import { extentOf } from './limits.ts'
import { drawLine } from './lines.ts'
import { valueText } from './readout.ts'
import { isNumeric, longNameOf, show, summarize, unitsOfFloats } from './words.ts'

/** Limits for the drawn elements of a one-dimensional variable, and for the shown texts. */
const MOST_POINTS = 2 ** 20
const MOST_TEXTS = 1000

/** Reads and shows a variable that is one-dimensional, a single value, or text. */
export async function showValues(array: DataArray, axes: ReadonlyMap<string, Axis>, signal: AbortSignal): Promise<void> {
  byId('subtitle').textContent = summarize(array)
  const isLine = isNumeric(array) && array.dims.length === 1
  byId('line').hidden = !isLine
  byId('text').hidden = isLine
  const most = isLine ? MOST_POINTS : MOST_TEXTS
  const { size } = array.array
  if (size > most && array.dims.length > 1) throw new Error(`${size} values of text are too many to show`)
  const first = Array.from({ length: Math.min(most, size) }, (_, i) => i)
  const part = size > most ? array.isel({ [array.dims[0]!]: first }) : array
  const result = await part.get({ signal })
  if (signal.aborted) return
  const data = array.dims.length === 0 ? [result] : (result as { data: ArrayLike<unknown> }).data
  if (!isLine) {
    byId<HTMLTextAreaElement>('text').value = Array.from(data as ArrayLike<unknown>, (value) => show(value)).join('\n')
    return
  }
  const axis = axes.get(array.dims[0]!)!
  const values = toFloats(array, data as ArrayLike<number | bigint>)
  const profile = { axis, values, name: longNameOf(array), units: unitsOfFloats(array) }
  await drawLine(byId('line'), profile, byId('view').clientWidth, 320)
  const extent = extentOf(values)
  const ends = extent === undefined ? '' : `, ${valueText(array, extent.low)} to ${valueText(array, extent.high)}`
  byId('line').ariaLabel = `${longNameOf(array)} along ${axis.dim}${ends}`
  byId('line').role = 'img'
}
