import { missingElements } from '../../array/missing.ts'
import { missingTest } from '../../array/missing-test.ts'
import type { DataArray } from '../data-array.ts'
import { showInstant } from '../time/instant.ts'
import { decodeTimes } from '../time/units.ts'

/** Formats of elements that are not shown as they are stored. */
export interface ElementFormat {
  /** Whether an element stands for a missing value. */
  readonly isMissing?: (element: unknown) => boolean
  /** Format and calendar of elements that are times. */
  readonly dates?: { readonly calendar: string; readonly show: (element: unknown) => string }
}

/**
 * Returns the formats of the elements of a labelled array: which are missing, and the text of times.
 * @example
 * const time = { dims: ['time'], data: [new Date('1998-01-16')] }
 * const ds = new Dataset({ t: { dims: ['time'], data: [281] } }, { coords: { time } })
 * const { dates } = elementFormat(ds.get('time'))
 * console.log(dates?.show((await ds.get('time').values())[0])) // 1998-01-16T00:00
 */
export function elementFormat(labelled: DataArray): ElementFormat {
  const { array, times } = labelled.variable
  const isMissing = missingTest(missingElements(array.source))
  const calendar = times?.calendar ?? 'standard'
  const show =
    array.dtype === 'timestamp_ns'
      ? (element: unknown): string => showInstant(element as bigint, calendar)
      : times && ((element: unknown): string => showInstant(decodeTimes([element as number], times)[0]!, calendar))
  return { ...(isMissing && { isMissing }), ...(show && { dates: { calendar, show } }) }
}
