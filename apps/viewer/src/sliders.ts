// Sliders for the dimensions that the picture does not show.
import type { Axis } from './axes.ts'
import { byId, element } from './dom.ts'

export interface SliderEvents {
  moved(dim: string, position: number): void
  played(dim: string): void
}

export function makeSliders(axes: readonly Axis[], at: Readonly<Record<string, number>>, events: SliderEvents): void {
  const rows = axes
    .filter(({ length }) => length > 1)
    .map((axis) => {
      const id = `at-${axis.dim}`
      const input = element('input', { type: 'range', id, min: '0', max: String(axis.length - 1) })
      const output = element('output')
      const step = (by: number): HTMLButtonElement => {
        const text = by < 0 ? '‹' : '›'
        const onclick = (): void => events.moved(axis.dim, (input.valueAsNumber + by + axis.length) % axis.length)
        const button = element('button', { type: 'button', textContent: text, onclick })
        button.ariaLabel = `${axis.dim}: ${by < 0 ? 'the position before' : 'the next position'}`
        return button
      }
      const play = element('button', { type: 'button', className: 'play', onclick: () => events.played(axis.dim) })
      input.oninput = () => events.moved(axis.dim, input.valueAsNumber)
      const label = element('label', { htmlFor: id, textContent: axis.dim })
      const row = element('div', { className: 'slider' }, label, step(-1), input, step(1), play, output)
      row.dataset['dim'] = axis.dim
      return row
    })
  byId('sliders').replaceChildren(...rows)
  for (const axis of axes) setSlider(axis, Math.min(at[axis.dim] ?? 0, axis.length - 1))
  showPlaying(undefined)
}

/** Shows a position in its slider, with its label. */
export function setSlider(axis: Axis, position: number): void {
  const row = byId('sliders').querySelector<HTMLElement>(`[data-dim="${CSS.escape(axis.dim)}"]`)
  if (row === null) return
  const input = row.querySelector('input')!
  input.value = String(position)
  input.setAttribute('aria-valuetext', axis.label(position))
  row.querySelector('output')!.value = axis.label(position)
}

/** Shows which dimension is played. */
export function showPlaying(dim: string | undefined): void {
  for (const row of byId('sliders').querySelectorAll<HTMLElement>('.slider')) {
    const button = row.querySelector<HTMLButtonElement>('.play')!
    const isPlaying = row.dataset['dim'] === dim
    button.textContent = isPlaying ? 'Pause' : 'Play'
    button.ariaPressed = String(isPlaying)
    button.ariaLabel = `${isPlaying ? 'Pause' : 'Play'} ${row.dataset['dim']}`
  }
}

/** Hides the slider of a dimension along which a mean is computed, and shows the others. */
export function disableSlider(dim: string): void {
  for (const row of byId('sliders').querySelectorAll<HTMLElement>('.slider')) row.hidden = row.dataset['dim'] === dim
}
