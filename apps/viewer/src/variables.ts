// The list of variables, and the details of the shown one.
import type { DataArray, Dataset } from 'hyperslab/dataset'
import { findAxisKind } from '../../../src/dataset/cf/axis-kind.ts'
import { byId, element } from './dom.ts'
import { attribute, describe, longNameOf, summarize, unitsOf } from './words.ts'

/** Lists groups to choose from, if there are several. */
export function listGroups(paths: readonly string[], shown: string, choose: (path: string) => void): void {
  const select = byId<HTMLSelectElement>('group')
  select.replaceChildren(
    ...paths.map((path) => element('option', { value: path, textContent: path === '' ? 'root group' : path })),
  )
  select.value = shown
  select.onchange = () => choose(select.value)
  byId('groups').hidden = paths.length < 2
}

/** Rank of an array in the list: data first, then coordinates, then bounds and grid mappings. */
type Rank = 0 | 1 | 2

/** Returns the arrays of a dataset with their ranks, sorted by them. */
export function rankArrays({ variables, coords }: Dataset): readonly { readonly array: DataArray; readonly rank: Rank }[] {
  const all = Object.values({ ...variables, ...coords })
  const named = (attributes: readonly string[]): Set<string> =>
    new Set(all.flatMap((each) => attributes.flatMap((name) => attribute(each, name).split(/[\s:]+/))))
  const coordinates = named(['coordinates'])
  const helpers = named(['bounds', 'climatology', 'grid_mapping'])
  const rankOf = ({ name, attrs, dims }: DataArray): Rank => {
    if (helpers.has(name) || dims.length === 0) return 2
    const isPlace = findAxisKind(name, attrs) !== undefined && dims.length <= 2
    return name in coords || dims.includes(name) || coordinates.has(name) || isPlace ? 1 : 0
  }
  return all.map((array) => ({ array, rank: rankOf(array) })).sort((a, b) => a.rank - b.rank)
}

/**
 * Lists arrays, and those that could not be opened with their errors.
 * @param levels number of levels of the pyramid, whose coarsest has these arrays
 */
export function listVariables(
  arrays: ReturnType<typeof rankArrays>,
  problems: ReadonlyMap<string, Error>,
  levels: number,
  pick: (array: DataArray) => void,
): void {
  byId('arrays').replaceChildren(...arrays.map((each) => arrayButton(each, levels, pick)), ...[...problems].map(problemItem))
}

function arrayButton(
  { array, rank }: ReturnType<typeof rankArrays>[number],
  levels: number,
  pick: (array: DataArray) => void,
): HTMLElement {
  const title = element('strong', { textContent: array.name })
  const units = unitsOf(array)
  const name = longNameOf(array)
  const meaning = [name === array.name ? '' : name, units === '' ? '' : `[${units}]`].join(' ').trim()
  const coarsest = levels > 1 ? `, at the coarsest of ${levels} levels` : ''
  const texts = [
    meaning,
    summarize(array) + coarsest,
    `chunks ${(array.encoding['chunks'] as number[] | undefined)?.join(' × ') || '1'}`,
  ]
  const lines = texts.filter((text) => text !== '').map((textContent) => element('span', { textContent }))
  const button = element('button', { type: 'button' }, title, ...lines)
  button.dataset['name'] = array.name
  button.dataset['rank'] = String(rank)
  button.onclick = () => pick(array)
  return element('li', {}, button)
}

/** Creates the entry of an array that could not be opened. */
function problemItem([name, { message }]: readonly [string, Error]): HTMLElement {
  return element(
    'li',
    { className: 'problem' },
    element('strong', { textContent: name }),
    element('span', { textContent: message }),
  )
}

/** Marks a variable of the list as shown, with its details. */
export function showVariable(array: DataArray): void {
  for (const button of byId('arrays').querySelectorAll('button'))
    button.ariaPressed = String(button.dataset['name'] === array.name)
  const texts = describe(array).flatMap(([name, text]) => [
    element('dt', { textContent: name }),
    element('dd', { textContent: text }),
  ])
  byId('details').replaceChildren(...texts)
  byId('title').textContent = longNameOf(array)
}
