import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { member } from '../core/member.ts'
import type { Checks } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { resolveSelection, type Selector } from '../grid/selection.ts'
import { type Coords, labelledDims } from './coords.ts'
import { type LabelSelector, type SelOptions, type Taken, takeLabels } from './label-selectors.ts'

export const SEL_CHECKS: Checks<SelOptions> = { method: ['nearest', 'pad', 'backfill'], tolerance: 'number or bigint or string' }

/** Whether a selection is a list of points. */
export const isPointList = <P>(selection: unknown): selection is readonly P[] => Array.isArray(selection)

/** Resolves selectors by label to positions of dimensions. */
export function takenByLabel(
  labels: Readonly<Record<string, LabelSelector>>,
  coords: Coords,
  dims: readonly string[],
  options: SelOptions,
): Map<string, Taken> {
  checkSelectors('sel', labels)
  const taken = new Map<string, Taken>()
  for (const [dim, selector] of Object.entries(labels)) {
    if (selector === undefined) continue
    const coord = coords.get(dim)
    if (coord?.index === undefined) throw noLabels(dim, coords, dims)
    taken.set(dim, takeLabels(coord.index, selector, options))
  }
  return taken
}

function noLabels(dim: string, coords: Coords, dims: readonly string[]): HyperslabError {
  const labelled = labelledDims(coords)
  const known = `labels are along ${labelled.join(', ') || 'no dimension'}`
  const coord = coords.get(dim)
  const text = dims.includes(dim)
    ? `the dimension ${dim} has no coordinate: select positions of it with isel; ${known}`
    : coord !== undefined
      ? `${dim} is a coordinate along [${coord.dims.join(', ')}] and labels no dimension; ${known}`
      : `there is no dimension ${quoted(dim)}; ${known}`
  return new HyperslabError('InvalidArgumentError', text, { actual: dim, expected: labelled })
}

/** Resolves selectors by position to positions of dimensions. */
export function takenByPosition(
  positions: Readonly<Record<string, Selector>>,
  dims: readonly string[],
  shape: readonly number[],
): Map<string, Taken> {
  checkSelectors('isel', positions)
  const taken = new Map<string, Taken>()
  const { parts } = resolveSelection(positions, shape, { dimensionNames: dims })
  for (const [axis, { picks, shape: kept }] of parts.entries()) {
    const dim = dims[axis]!
    if (member(positions, dim) === undefined) continue
    const pick = 'step' in picks ? picks : picks[0]!
    if (kept.length > 1 || (!('step' in picks) && picks.length > 1))
      invalidArgument(`isel takes an integer, a slice or a list along ${dim}`, positions[dim])
    if (kept.length === 0) taken.set(dim, { position: (pick as { start: number }).start })
    else taken.set(dim, { parts: [{ positions: pick, shift: 0 }] })
  }
  return taken
}

function checkSelectors(call: string, selectors: unknown): void {
  const isPlain = typeof selectors === 'object' && selectors !== null && Object.getPrototypeOf(selectors) === Object.prototype
  if (!isPlain) invalidArgument(`${call} takes selectors by dimension, such as { time: … }`, selectors)
}
