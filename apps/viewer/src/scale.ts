// Chooses the colours of the values of a frame.
import type { DataArray } from 'hyperslab/dataset'
import { tableOf } from './colours.ts'
import type { Scale } from './figure.ts'
import type { Frame } from './frame.ts'
import { extentOf, type Limits, percentilesOf, suitingColours, symmetric } from './limits.ts'
import type { ViewState } from './state.ts'
import { show } from './words.ts'

/** Limits that stay the same while other frames of one kind are shown. */
export class KeptLimits {
  #kept: { readonly of: string; readonly limits: Limits } | undefined

  forget(): void {
    this.#kept = undefined
  }

  /**
   * Returns the limits of a frame.
   * @param extent extent of all values, if known
   */
  of(frame: Frame, state: ViewState, extent: Limits | undefined): Limits | undefined {
    const { variable, by, mean, minus, less, limits: choice, low, high } = state
    const isPlain = by === '' && mean === '' && minus === undefined && less === ''
    const of = [variable, by, mean, minus !== undefined, less, choice, low, high].join()
    const kept = this.#kept
    // A picture with a single value, such as the difference of a month from itself, is no guide for later
    // ones.
    const isUseful = kept !== undefined && kept.of === of && kept.limits.low < kept.limits.high
    if (isUseful && (state.keep || (state.limits === 'all' && extent !== undefined && isPlain))) return kept.limits
    const shown = extentOf(frame.values)
    let limits = shown
    if (state.limits === 'all' && isPlain) limits = extent ?? shown
    else if (state.limits === 'percentiles') limits = percentilesOf(frame.values)
    else if (state.limits === 'own') limits = { low: state.low ?? shown?.low ?? 0, high: state.high ?? shown?.high ?? 1 }
    if (limits !== undefined) this.#kept = { of, limits }
    return limits
  }
}

/** Returns the requested scale, or the nearest possible one with the problem of the requested one. */
export function scaleOf(array: DataArray, state: ViewState, found: Limits): { readonly scale: Scale; readonly problem?: string } {
  const colours = state.colours === 'auto' ? suitingColours(array, state, found) : state.colours
  const isAround0 = state.symmetric || (colours === 'diverging' && state.limits !== 'own')
  const { low, high } = isAround0 ? symmetric(found) : found
  const table = tableOf(colours)
  const log = state.log && Math.min(low, high) > 0
  if (low > high)
    return {
      scale: { low: high, high: low, table, log },
      problem: `The lower limit, ${show(low)}, is above the upper one, ${show(high)}.`,
    }
  if (log !== state.log)
    return {
      scale: { low, high, table, log },
      problem: `A logarithmic scale needs limits above 0, and the lower one is ${show(low)}.`,
    }
  return { scale: { low, high, table, log } }
}
