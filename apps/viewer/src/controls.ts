// The controls below the picture: what they change, and what they show of the state.
import { byId, element, showError } from './dom.ts'
import { disableSlider } from './sliders.ts'
import type { ViewState } from './state.ts'

/** What the page does about it. */
export interface ControlActions {
  /** Draws what is in memory with other settings. */
  redraw(changes: Partial<ViewState>): void
  /** Takes means along a dimension; along none where it is empty. */
  takeMean(dim: string): void
  /** Subtracts what is shown from everything that is, or nothing. */
  subtract(isShown: boolean): void
  showCode(): void
  savePicture(): void
}

/** Has the controls show the state, and hides those that have no use for what is shown. */
export function showControls(state: ViewState, { isPlane, means, canSubtract }: Useful): void {
  for (const id of ['figure', 'settings', 'compute', 'readout', 'png']) byId(id).hidden = !isPlane
  byId('line').hidden = isPlane
  byId('text').hidden = true
  const options = means.map((dim) => element('option', { value: dim, textContent: dim }))
  byId('mean').replaceChildren(element('option', { value: '', textContent: 'nothing' }), ...options)
  byId('compute').hidden = !isPlane || means.length === 0
  for (const id of ['colours', 'limits', 'projection', 'mean'] as const) byId<HTMLSelectElement>(id).value = state[id]
  for (const id of ['keep', 'symmetric', 'log'] as const) byId<HTMLInputElement>(id).checked = state[id]
  for (const id of ['low', 'high'] as const) byId<HTMLInputElement>(id).value = state[id] === undefined ? '' : String(state[id])
  for (const label of document.querySelectorAll<HTMLElement>('.own')) label.hidden = state.limits !== 'own'
  byId('subtract').hidden = !canSubtract || state.mean !== ''
  byId('subtract-none').hidden = state.minus === undefined
  disableSlider(state.mean)
}

/** Which controls are of use. */
export interface Useful {
  readonly isPlane: boolean
  /** Dimensions that means can be taken along. */
  readonly means: readonly string[]
  readonly canSubtract: boolean
}

export function bindControls(actions: ControlActions): void {
  const { redraw } = actions
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
  byId<HTMLSelectElement>('mean').onchange = ({ target }) => actions.takeMean((target as HTMLSelectElement).value)
  byId('abort').onclick = () => {
    byId<HTMLSelectElement>('mean').value = ''
    actions.takeMean('')
  }
  byId('subtract').onclick = () => actions.subtract(true)
  byId('subtract-none').onclick = () => actions.subtract(false)
  byId<HTMLDetailsElement>('code').ontoggle = () => actions.showCode()
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]'))
    button.onclick = () => copy(byId<HTMLTextAreaElement>(button.dataset['copy']!).value, 'The code is copied.')
  byId('copy-link').onclick = () => copy(location.href, 'The link is copied; files of this machine are in no link.')
  byId('png').onclick = () => actions.savePicture()
}

/** What is seen of another projection lies elsewhere. */
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
