import { type AxisView, isTensorLike, type TensorLike } from '../core/tensor.ts'
import type { ChunkGrid } from './chunks.ts'
import {
  findProgression,
  flatten,
  isArrayLike,
  isMask,
  type Listed,
  listPositions,
  maskPositions,
  type Nested,
  ragged,
} from './list.ts'
import { ChunkSelector, LinearSelector, newAxis, type Points, PointsSelector } from './selectors.ts'
import { invalid, isSlice, resolveIndex, resolveSlice, type Slice, show } from './slice.ts'

/**
 * Selects elements along an axis:
 *
 * - an integer: one position; the axis is dropped
 * - `null`: the whole axis
 * - a `slice`
 * - a list of positions, in any order and with duplicates: an array, nested arrays or a tensor, whose shape
 *   replaces the axis
 * - a mask: booleans (an array, nested arrays, a `Uint8Array` of 0 and 1, or a tensor of `bool`) of the
 *   shape of the axes it covers. The true elements come in C order, on one axis
 * - `points([[i, j], …])`: single elements of several axes; `chunk(i, j)`: the elements of one chunk
 * - `'...'`: all axes without a selector; `newAxis`: an additional axis of length 1
 *
 * `linear(…)` selects from all axes together, so it is no selector of an axis, but a {@link Selection}.
 */
export type Selector =
  | number
  | null
  | Slice
  | '...'
  | typeof newAxis
  | Nested<number | bigint>
  | Nested<boolean>
  | TensorLike
  | PointsSelector
  | ChunkSelector

/** Selectors by dimension name, each for one axis. */
export interface NamedSelection {
  readonly [dimension: string]: Selector
}

/**
 * Selectors in the order of the axes, which combine orthogonally: the result contains every combination of
 * their positions. Missing trailing selectors mean `null`; a missing selection selects everything.
 * Alternatively, selectors by dimension name, a single selector that is no array, or `linear(…)`.
 */
export type Selection =
  | readonly Selector[]
  | NamedSelection
  | PointsSelector
  | ChunkSelector
  | LinearSelector
  | TensorLike
  | null
  | undefined

/** A resolved selector: positions of one axis, or of several axes together. */
export interface SelectionPart {
  /**
   * The selected positions in the order of the result. For one axis: `length` positions from `start`, `step`
   * apart, which may be negative. For points: one list of positions per axis.
   */
  readonly picks: AxisView | readonly Float64Array[]
  /** Number of selected positions. */
  readonly length: number
  /** Its axes in the result: none for an integer. */
  readonly shape: readonly number[]
}

/** A selection resolved against the shape of an array. */
export interface ResolvedSelection {
  /** Parts in the order of the array's axes, each of one axis or several. */
  readonly parts: readonly SelectionPart[]
  /** Shape of the result. */
  readonly shape: readonly number[]
  /** Whether the result is an element instead of a tensor: only integers, and no `'...'`. */
  readonly scalar: boolean
}

export interface SelectionContext {
  readonly chunks?: ChunkGrid | undefined
  readonly dimensionNames?: readonly string[] | undefined
}

/**
 * Resolves `selection` against the shape of an array.
 * @throws InvalidSelectionError with the axis and the numbers: more selectors than axes, an index out of
 *   bounds, a number that is no integer, a step of 0, a mask of another shape, or an unknown dimension name
 */
export function resolveSelection(
  selection: Selection,
  shape: readonly number[],
  { chunks, dimensionNames }: SelectionContext = {},
): ResolvedSelection {
  if (selection instanceof LinearSelector) return selection.resolve(shape) as ResolvedSelection
  const { selectors, named } = parseSelectors(selection, shape.length, dimensionNames)
  const given = Array.from(selectors, parseSelector)
  const counts = given.map(axesOf)
  const odd = named ? counts.findIndex((count) => count !== 1) : -1
  if (odd >= 0)
    invalid(`a selector by name is of one axis, that of axis ${odd} of ${counts[odd]}`, {
      axis: odd,
      actual: counts[odd],
      expected: 1,
    })
  const taken = counts.reduce((sum, count) => sum + count, 0)
  if (taken > shape.length) invalid(`${taken} selectors for ${shape.length} axes`, { actual: taken, expected: shape.length })

  const resolver = new SelectionResolver(shape, chunks, shape.length - taken)
  for (const selector of given) resolver.take(selector)
  return resolver.finish()
}

/** Returns the parts for some points; a single point is equivalent to integers. */
export function partsOfPoints(positions: readonly Float64Array[], shape: readonly number[]): SelectionPart[] {
  const { length } = positions[0]!
  if (length !== 1) return [{ picks: positions, length, shape }]
  return positions.map(([start], i) => ({ picks: { start: start!, step: 1, length }, length, shape: i === 0 ? shape : [] }))
}

/** Resolves selectors one after another, and tracks the current axis. */
class SelectionResolver {
  readonly #shape: readonly number[]
  readonly #chunks: ChunkGrid | undefined
  /** Number of axes without a selector. */
  readonly #left: number
  readonly #parts: SelectionPart[] = []
  readonly #result: number[] = []
  #axis = 0
  #open = false

  constructor(shape: readonly number[], chunks: ChunkGrid | undefined, left: number) {
    this.#shape = shape
    this.#chunks = chunks
    this.#left = left
  }

  take(selector: ParsedSelector): void {
    const axis = this.#axis
    const length = this.#shape[axis]!
    if (selector === null) this.#addWhole(1)
    else if (selector === newAxis) this.#result.push(1)
    else if (selector === '...') {
      if (this.#open) invalid("a selection has more than one '...'", { actual: '...' })
      this.#open = true
      this.#addWhole(this.#left)
    } else if (typeof selector === 'number') this.#add({ start: resolveIndex(selector, axis, length), step: 1, length: 1 }, [])
    else if (selector instanceof ChunkSelector) for (const index of selector.index) this.#addChunk(index)
    else if (isSlice(selector)) this.#add(resolveSlice(selector, axis, length))
    else if ('resolve' in selector) this.#addPoints(selector.resolve(this.#shape, axis), selector.shape)
    else if (isMask(selector)) {
      const positions = maskPositions(selector, axis, this.#shape.slice(axis, axis + selector.shape.length))
      this.#addPoints(positions, [positions[0]!.length])
    } else this.#addPoints([listPositions(selector.values, axis, length)], selector.shape)
  }

  finish(): ResolvedSelection {
    this.#addWhole(this.#shape.length - this.#axis)
    return { parts: this.#parts, shape: this.#result, scalar: this.#result.length === 0 && !this.#open }
  }

  #add(picks: SelectionPart['picks'], shape: readonly number[] = [(picks as AxisView).length]): void {
    const [axes, { length }] = 'step' in picks ? [1, picks] : [picks.length, picks[0]!]
    this.#parts.push({ picks, length, shape })
    this.#result.push(...shape)
    this.#axis += axes
  }

  #addWhole(count: number): void {
    for (let i = 0; i < count; i++) this.#add({ start: 0, step: 1, length: this.#shape[this.#axis]! })
  }

  #addChunk(index: number): void {
    const own = this.#chunks?.axes[this.#axis]
    if (own === undefined) throw invalid('chunk(…) selects from arrays with a chunk grid', { axis: this.#axis })
    const k = resolveIndex(index, this.#axis, own.count, 'chunk')
    this.#add({ start: own.start(k), step: 1, length: own.stop(k) - own.start(k) })
  }

  #addPoints(positions: readonly Float64Array[], shape: readonly number[]): void {
    const progression = positions.length === 1 ? findProgression(positions[0]!) : undefined
    if (progression !== undefined) this.#add(progression, shape)
    else {
      this.#parts.push(...partsOfPoints(positions, shape))
      this.#result.push(...shape)
      this.#axis += positions.length
    }
  }
}

type ParsedSelector = number | null | '...' | typeof newAxis | Slice | Points | Listed | ChunkSelector

const axesOf = (selector: ParsedSelector): number => {
  if (selector === '...' || selector === newAxis) return 0
  if (typeof selector !== 'object' || selector === null || isSlice(selector)) return 1
  if (selector instanceof ChunkSelector) return selector.index.length
  if ('resolve' in selector) return selector.axes
  return isMask(selector) ? selector.shape.length : 1
}

/** Parses a selector; rejects values of other types. */
function parseSelector(selector: unknown, axis: number): ParsedSelector {
  if (selector === undefined) return null
  if (selector === null || typeof selector === 'number' || selector === '...' || selector === newAxis) return selector
  if (selector instanceof PointsSelector) return selector.read()
  if (selector instanceof ChunkSelector || isSlice(selector)) return selector
  if (isTensorLike(selector) || isArrayLike(selector)) return flatten(selector, ragged)
  return invalid(`${show(selector)} on axis ${axis} is neither an integer, a slice nor null, nor a list, mask, points or chunk`, {
    axis,
    actual: selector,
  })
}

function parseSelectors(
  selection: unknown,
  rank: number,
  names: readonly string[] | undefined,
): { selectors: readonly unknown[]; named?: boolean } {
  if (selection === null || selection === undefined) return { selectors: [] }
  if (Array.isArray(selection)) return { selectors: selection }
  if (typeof selection !== 'object')
    return invalid(`a selection is a list of selectors or an object of them, got ${show(selection)}`, { actual: selection })
  const prototype: unknown = Object.getPrototypeOf(selection)
  if ((prototype !== Object.prototype && prototype !== null) || isTensorLike(selection) || isSlice(selection))
    return { selectors: [selection] }
  const selectors = new Array<unknown>(rank).fill(null)
  for (const [name, selector] of Object.entries(selection)) {
    const axis = names?.indexOf(name) ?? -1
    if (axis < 0) {
      const known = names === undefined ? 'dimensions have no names' : names.join(', ')
      invalid(`there is no dimension ${JSON.stringify(name)} (${known})`, { actual: name, expected: names ?? [] })
    }
    selectors[axis] = selector
  }
  return { selectors, named: true }
}
