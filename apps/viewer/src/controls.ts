// The controls below the picture. They change the state and show it.
import { byId, element, showError } from './dom.ts'
import { disableSlider } from './sliders.ts'
import type { ViewState } from './state.ts'

/** Actions of the page. */
export interface ControlActions {
  /** Draws data in memory with other settings. */
  redraw(changes: Partial<ViewState>): void
  /** Computes another array from the variable. */
  compute(changes: Partial<ViewState>): void
  /** Subtracts the shown position from all positions. */
  subtract(): void
  showCode(): void
  savePicture(): void
}

/** Updates the controls from the state, and hides those without a use. */
export function showControls(state: ViewState, { isPlane, means, others, hasTimes, canSubtract }: Useful): void {
  for (const id of ['figure', 'settings', 'compute', 'readout', 'png']) byId(id).hidden = !isPlane
  byId('line').hidden = isPlane
  byId('text').hidden = true
  offer('mean', means)
  offer('less', others)
  byId('by-label').hidden = !hasTimes
  byId('mean-label').hidden = means.length === 0
  byId('less-label').hidden = others.length === 0
  byId('compute').hidden = !isPlane || (means.length === 0 && others.length === 0)
  for (const id of ['colours', 'limits', 'projection', 'mean', 'by', 'less'] as const)
    byId<HTMLSelectElement>(id).value = state[id]
  for (const id of ['keep', 'symmetric', 'log'] as const) byId<HTMLInputElement>(id).checked = state[id]
  for (const id of ['low', 'high'] as const) byId<HTMLInputElement>(id).value = state[id] === undefined ? '' : String(state[id])
  for (const label of document.querySelectorAll<HTMLElement>('.own')) label.hidden = state.limits !== 'own'
  byId('subtract').hidden = !canSubtract || state.mean !== ''
  byId('subtract-none').hidden = state.minus === undefined
  disableSlider(state.mean)
}

/** Offers names to choose from, and the choice of none. */
function offer(id: string, names: readonly string[]): void {
  const options = names.map((name) => element('option', { value: name, textContent: name }))
  byId(id).replaceChildren(element('option', { value: '', textContent: 'none' }), ...options)
}

/** Facts that decide which controls are shown. */
export interface Useful {
  readonly isPlane: boolean
  /** Dimensions along which means can be computed. */
  readonly means: readonly string[]
  /** Variables that can be subtracted. */
  readonly others: readonly string[]
  /** Whether there are times, from which climatologies can be computed. */
  readonly hasTimes: boolean
  readonly canSubtract: boolean
}

export function bindControls(actions: ControlActions): void {
  const { redraw, compute } = actions
  for (const id of ['colours', 'projection'] as const)
    byId<HTMLSelectElement>(id).onchange = ({ target }) =>
      redraw({ [id]: (target as HTMLSelectElement).value, ...(id === 'projection' && WHOLE) })
  byId<HTMLSelectElement>('limits').onchange = ({ target }) => {
    redraw({ limits: (target as HTMLSelectElement).value as ViewState['limits'] })
  }
  for (const id of ['keep', 'symmetric', 'log'] as const)
    byId<HTMLInputElement>(id).onchange = ({ target }) => redraw({ [id]: (target as HTMLInputElement).checked })
  for (const id of ['low', 'high'] as const)
    byId<HTMLInputElement>(id).onchange = ({ target }) => {
      const value = (target as HTMLInputElement).valueAsNumber
      redraw({ [id]: Number.isNaN(value) ? undefined : value })
    }
  // A subtraction uses the same times, and a choice that came with a mean no longer exists.
  const nothing = { mean: '', minus: undefined } as const
  byId<HTMLSelectElement>('mean').onchange = ({ target }) => compute({ ...nothing, mean: (target as HTMLSelectElement).value })
  byId<HTMLSelectElement>('by').onchange = ({ target }) =>
    compute({ ...nothing, by: (target as HTMLSelectElement).value as ViewState['by'] })
  byId<HTMLSelectElement>('less').onchange = ({ target }) =>
    compute({ less: (target as HTMLSelectElement).value, minus: undefined })
  byId('abort').onclick = () => compute({ ...nothing, by: '' })
  byId('subtract').onclick = () => actions.subtract()
  byId('subtract-none').onclick = () => compute({ minus: undefined })
  byId<HTMLDetailsElement>('code').ontoggle = () => actions.showCode()
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]'))
    button.onclick = () => copy(byId<HTMLTextAreaElement>(button.dataset['copy']!).value, 'The code is copied.')
  byId('copy-link').onclick = () => copy(location.href, 'The link is copied; files of this machine are in no link.')
  byId('png').onclick = () => actions.savePicture()
}

/** Shows the whole picture, because positions differ between projections. */
const WHOLE = { x: undefined, y: undefined, zoom: 1 }

async function copy(text: string, said: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    byId('announce').textContent = said
    byId('readout').textContent = said
  } catch {
    showError('view-error', 'The browser does not let this page copy; mark the text and copy it yourself.')
  }
}
