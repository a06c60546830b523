import type { Axis } from '../array/axes.ts'
import { FOLD_KINDS, type FoldKind, type WindowOptions } from '../array/reductions/fold-kinds.ts'
import { type AxisLengths, WINDOW_CHECKS } from '../array/reductions/windows.ts'
import { invalidArgument } from '../core/errors.ts'
import type { Check, Checks } from '../core/options.ts'
import { findScheme } from '../core/scheme.ts'
import type { ConcatDatasetsOptions } from '../dataset/concat-options.ts'
import { refuseUrlOptions } from '../tree/not-found.ts'
import { optional, type PendingCheck, required } from './checks.ts'

/** Positions or a mask, as nested lists. */
type NestedRecipe = readonly (number | boolean | NestedRecipe)[]

/** Evenly spaced positions. */
interface SliceRecipe {
  readonly start?: number | null
  readonly stop?: number | null
  readonly step?: number | null
}

/** Positions on several axes together, as `points` takes them. */
interface PointsRecipe {
  readonly points: NestedRecipe
  /** Number of the axes. Needed only for an empty list. */
  readonly axes?: number
}

/** Selector of an axis: one position, some, or all. Points and masks may select from several axes. */
export type AxisRecipe = number | null | '...' | NestedRecipe | SliceRecipe | PointsRecipe

/** A selection (`select`): of all axes in order, or by dimension. */
export interface SelectRecipe {
  readonly select: readonly AxisRecipe[] | { readonly [dimension: string]: AxisRecipe }
}

/** Positions in C order (`linear`): one, some, or evenly spaced ones. */
export interface LinearRecipe {
  readonly linear: number | NestedRecipe | SliceRecipe
}

/** Another order of axes (`transpose`). */
export interface TransposeRecipe {
  readonly transpose: readonly (string | number)[]
}

/** Blocks of the given lengths, each reduced to one element by `kind` and `options`, as in `coarsen`. */
export interface CoarsenRecipe {
  readonly coarsen: AxisLengths
  readonly kind: FoldKind
  readonly options?: WindowOptions
}

/** A view of an array: a part of it, another order of axes, or blocks reduced to elements. */
export type ViewRecipe = SelectRecipe | LinearRecipe | TransposeRecipe | CoarsenRecipe

/** A stored array at a `location`: a container, a Zarr store or classic NetCDF. `views` are applied to it. */
export interface StoredArrayRecipe {
  readonly location: string
  /** Name of the array; for a Zarr store, its path. Omitted if the location is a Zarr array. */
  readonly array?: string
  /** HTTP statuses that mean "not found" for a URL; see `openZarr`. */
  readonly notFound?: readonly number[]
  readonly views?: readonly ViewRecipe[]
}

/** Rules for joining files that overlap, have gaps, or differ. */
interface JoinRules extends Pick<ConcatDatasetsOptions, 'overlap' | 'gaps' | 'compat'> {}

/** A `dataset` at a location, or many files that are joined as in `openDatasets`. */
export interface DatasetRecipe extends JoinRules {
  readonly dataset: string | readonly string[]
  /** Dimension along which files are joined. Default: the only dimension with differing labels. */
  readonly dim?: string
  /** Path of a group in a Zarr store. */
  readonly group?: string
  /** HTTP statuses that mean "not found" for the URLs; see `openZarr`. */
  readonly notFound?: readonly number[]
}

/** A `variable` of a dataset. `views` are applied to it. */
export interface VariableRecipe extends DatasetRecipe {
  readonly variable: string
  /** Whether to decode values by the CF conventions. Default: true. */
  readonly decode?: boolean
  readonly views?: readonly ViewRecipe[]
}

/** Arrays joined (`concat`) along an `axis`. `views` are applied to the result. */
export interface JoinedRecipe {
  readonly concat: readonly ArrayRecipe[]
  readonly axis?: Axis
  readonly views?: readonly ViewRecipe[]
}

/** An array as data: its location, and the views that are applied before it is read. */
export type ArrayRecipe = StoredArrayRecipe | VariableRecipe | JoinedRecipe

const STORED: Checks<StoredArrayRecipe> = { location: 'string', array: 'string', notFound: 'list of integers', views: 'list' }
/** Repeated here, because importing the modules of datasets would make pages load more. */
const JOIN_RULES: Checks<JoinRules> = {
  overlap: ['error', 'first', 'last'],
  gaps: ['error', 'keep'],
  compat: ['equals', 'override'],
}

export const DATASET_RECIPE: Checks<DatasetRecipe> = {
  dataset: 'string or list of strings',
  dim: 'string',
  group: 'string',
  notFound: 'list of integers',
  ...JOIN_RULES,
}
const VARIABLE: Checks<VariableRecipe> = { ...DATASET_RECIPE, variable: 'string', decode: 'boolean', views: 'list' }
const JOINED: Checks<JoinedRecipe> = { concat: 'list', axis: 'number or string', views: 'list' }

/** Nested lists in a recipe may be this deep. */
const MOST_NESTED = 32

/** Names of credentials in queries of URLs. */
const SECRET = /sig|token|key|secret|passw|credential|auth/i

const VIEWS: { readonly [view: string]: Readonly<Record<string, Check>> } = {
  select: { select: 'list or plain object' } satisfies Checks<SelectRecipe>,
  linear: { linear: 'value' } satisfies Checks<LinearRecipe>,
  transpose: { transpose: 'list' } satisfies Checks<TransposeRecipe>,
  coarsen: { coarsen: 'plain object', kind: FOLD_KINDS, options: 'plain object' } satisfies Checks<CoarsenRecipe>,
}
const SLICE: Checks<SliceRecipe> = { start: 'integer', stop: 'integer', step: 'integer' }
const POINTS: Checks<PointsRecipe> = { points: 'list', axes: 'integer from 1' }

/**
 * @param call name of the function in messages
 * @throws InvalidArgumentError for an invalid recipe, and for locations with credentials in them
 */
export function* recipeChecks(call: string, recipe: ArrayRecipe): Generator<PendingCheck, void> {
  const where = `${call}: source`
  yield required(call, 'source', recipe, 'plain object')
  if ('concat' in recipe) {
    yield optional(where, recipe, JOINED)
    yield required(where, 'concat', recipe.concat, 'list')
    if (recipe.concat.length === 0) invalidArgument(`${call}: there are no arrays to put together`, recipe.concat)
    for (const each of recipe.concat) yield* recipeChecks(call, each)
  } else if ('dataset' in recipe) {
    yield optional(where, recipe, VARIABLE)
    yield required(where, 'variable', recipe.variable, 'string')
    yield* datasetChecks(call, recipe)
  } else {
    yield optional(where, recipe, STORED)
    yield required(where, 'location', recipe.location, 'string')
    checkNoSecret(call, recipe.location)
    if (recipe.notFound !== undefined) refuseUrlOptions(where, recipe.location, { notFound: recipe.notFound })
  }
  for (const view of recipe.views ?? []) yield* viewChecks(`${call}: a view`, view)
}

/** @throws InvalidArgumentError for an empty list of files, and for locations with credentials in them */
export function* datasetChecks(call: string, { dataset, group: _, ...recipe }: DatasetRecipe): Generator<PendingCheck, void> {
  yield required(`${call}: source`, 'dataset', dataset, 'string or list of strings')
  if (dataset.length === 0) invalidArgument(`${call}: source: dataset is empty`, dataset)
  for (const location of [dataset].flat()) {
    checkNoSecret(call, location)
    if (recipe.notFound !== undefined) refuseUrlOptions(`${call}: source`, location, { notFound: recipe.notFound })
  }
  const rule =
    typeof dataset === 'string' ? ['dim', ...Object.keys(JOIN_RULES)].find((name) => Object.hasOwn(recipe, name)) : undefined
  if (rule !== undefined) invalidArgument(`${call}: source: ${rule} is for datasets of several files, given as a list`, dataset)
}

function* viewChecks(where: string, view: ViewRecipe): Generator<PendingCheck, void> {
  yield required(where, 'it', view, 'plain object')
  yield optional(where, view, Object.assign({}, ...Object.values(VIEWS)))
  const kinds = Object.keys(VIEWS).filter((name) => (view as unknown as Record<string, unknown>)[name] !== undefined)
  if (kinds.length !== 1) {
    const found = kinds.length === 0 ? 'none of them' : kinds.join(' and ')
    invalidArgument(`${where} is one of ${Object.keys(VIEWS).join(', ')}, and this one has ${found}`, view)
  }
  yield optional(`${where}: ${kinds[0]}`, view, VIEWS[kinds[0]!]!)
  if ('select' in view)
    for (const [axis, taken] of Object.entries(view.select)) yield* takenChecks(`${where}: select of ${axis}`, taken)
  else if ('linear' in view) {
    if (Object(view.linear) === view.linear && 'points' in (view.linear as object))
      invalidArgument(`${where}: linear takes positions in C order, not points`, view)
    yield* takenChecks(`${where}: linear`, view.linear ?? undefined)
  } else if ('transpose' in view)
    for (const axis of view.transpose) yield required(where, 'an axis of transpose', axis, 'integer or string')
  else yield* coarsenChecks(where, view)
}

function* coarsenChecks(where: string, { coarsen: factors, kind, options }: CoarsenRecipe): Generator<PendingCheck, void> {
  for (const [axis, length] of Object.entries(factors)) yield required(where, `coarsen of ${axis}`, length, 'integer from 1')
  yield required(where, 'kind', kind, FOLD_KINDS)
  yield optional(`${where}: coarsen`, options, WINDOW_CHECKS)
}

function* takenChecks(where: string, taken: unknown): Generator<PendingCheck, void> {
  if (taken === null || taken === '...') return
  if (Array.isArray(taken)) yield* listChecks(where, taken)
  else if (typeof taken !== 'object') yield required(where, 'it', taken, 'integer or list of integers')
  else {
    const own = Object.fromEntries(Object.entries(taken).map(([name, each]) => [name, each ?? undefined]))
    yield optional(where, own, { ...SLICE, ...POINTS })
    yield optional(where, own, 'points' in own ? POINTS : SLICE)
    if ('points' in own) {
      yield required(where, 'points', own['points'], 'list')
      yield required(where, 'points', (own['points'] as unknown[]).flat(MOST_NESTED), 'list of integers')
    }
  }
}

/** Checks a list or a mask; reading refuses one of another shape. */
function* listChecks(where: string, list: readonly unknown[]): Generator<PendingCheck, void> {
  const values = list.flat(MOST_NESTED)
  const isMask = values.length > 0 && values.every((value) => typeof value === 'boolean')
  if (!isMask) yield required(where, 'it', values, 'list of integers')
}

/** Checks that a location contains no credentials, because reading a plan must not grant access. */
export function checkNoSecret(call: string, location: string): void {
  const url = findScheme(location) !== undefined && URL.canParse(location) ? new URL(location) : undefined
  if (url === undefined) return
  const query = [...url.searchParams.keys()].find((name) => SECRET.test(name))
  if (url.username === '' && url.password === '' && query === undefined) return
  const what = query === undefined ? 'a user name or password' : `'${query}' in its query`
  const text = `${call}: a plan is read by many, and this location has ${what}; give credentials to the workers, by their environment`
  // The message must not contain the credentials.
  invalidArgument(text, `${url.protocol}//${url.host}${url.pathname}`)
}

/** Returns the recipe with every location replaced. */
export function relocated(recipe: ArrayRecipe, to: (location: string) => string): ArrayRecipe {
  if ('concat' in recipe) return { ...recipe, concat: recipe.concat.map((each) => relocated(each, to)) }
  return 'dataset' in recipe ? relocatedDataset(recipe, to) : { ...recipe, location: to(recipe.location) }
}

export const relocatedDataset = <R extends DatasetRecipe>(recipe: R, to: (location: string) => string): R => ({
  ...recipe,
  dataset: typeof recipe.dataset === 'string' ? to(recipe.dataset) : recipe.dataset.map(to),
})
