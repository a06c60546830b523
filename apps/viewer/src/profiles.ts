// Values through one cell: along both axes of the picture, which are in memory, and along the slow one, which is read.
import type { DataArray } from 'hyperslab/dataset'
import type { Axis } from './axes.ts'
import { byId, element, showError } from './dom.ts'
import { type Frame, toFloats } from './frame.ts'
import { drawLine } from './lines.ts'
import { csvOf, type Profile } from './profile.ts'
import { save } from './save.ts'
import { plural, showBytes } from './words.ts'

/** What profiles are of. */
export interface Cell {
  readonly frame: Frame
  readonly row: number
  readonly column: number
  readonly y: Axis
  readonly x: Axis
  readonly name: string
  readonly units: string
  readonly place: string
  /** The values along the slow dimension, not read yet. */
  readonly series: { readonly array: DataArray; readonly axis: Axis } | undefined
  /** What the series is of: it is read once while this stays. */
  readonly of: string
}

/** A series that takes no more is read at once; a larger one when it is asked for. */
const MOST_REQUESTS = 64
const MOST_BYTES = 2 ** 22

export class Profiles {
  #reading = new AbortController()
  /** The last series that was read. */
  #series: { readonly of: string; readonly profile: Profile } | undefined

  /** Forgets what was read, as of a dataset that is closed. */
  forget(): void {
    this.#series = undefined
  }

  close(): void {
    this.#reading.abort()
    byId('profiles').hidden = true
  }

  async show(cell: Cell): Promise<void> {
    this.#reading.abort()
    this.#reading = new AbortController()
    const { signal } = this.#reading
    byId('profiles').hidden = false
    byId('profile-place').textContent = cell.place
    byId('profile-cost').textContent = ''
    byId('read-series').hidden = true
    showError('profile-error')
    byId('charts').replaceChildren()
    this.#chart(along(cell, 'x'))
    this.#chart(along(cell, 'y'))
    if (cell.series === undefined) return
    if (this.#series?.of === cell.of) return this.#chart(this.#series.profile, true)
    const { array, axis } = cell.series
    try {
      const { requests, bytes } = await array.array.plan()
      if (signal.aborted) return
      const reads = requests === undefined ? 'an unknown number of reads' : plural(requests, 'read')
      byId('profile-cost').textContent = `The series along ${axis.dim} takes ${reads} for ${showBytes(bytes)} of values.`
      const read = async (): Promise<void> => {
        byId('read-series').hidden = true
        try {
          const { data } = await array.array.get([null], { signal })
          const values = toFloats(array, data as ArrayLike<number | bigint>)
          if (signal.aborted) return
          this.#series = { of: cell.of, profile: { axis, values, name: cell.name, units: cell.units } }
          this.#chart(this.#series.profile, true)
        } catch (error) {
          if (!signal.aborted) showError('profile-error', error)
        }
      }
      if (requests !== undefined && requests <= MOST_REQUESTS && bytes <= MOST_BYTES) await read()
      else {
        byId('read-series').hidden = false
        byId('read-series').onclick = read
      }
    } catch (error) {
      if (!signal.aborted) showError('profile-error', error)
    }
  }

  #chart(profile: Profile, first = false): void {
    const button = element('button', { type: 'button', textContent: 'CSV', title: 'Save as comma-separated values' })
    button.ariaLabel = `Save the profile along ${profile.axis.dim} as CSV`
    button.onclick = () => save(new Blob([csvOf(profile)], { type: 'text/csv' }), `${profile.name}-${profile.axis.dim}.csv`)
    const chart = element('div')
    const figure = element('figure', {}, element('figcaption', {}, `along ${profile.axis.dim}`, button), chart)
    figure.dataset['dim'] = profile.axis.dim
    byId('charts')[first ? 'prepend' : 'append'](figure)
    drawLine(chart, profile, Math.max(200, byId('charts').clientWidth), 190)
  }
}

/** Values of a frame through a cell along one of its axes. */
function along({ frame, row, column, x, y, name, units }: Cell, side: 'x' | 'y'): Profile {
  const { values, rows, columns, steps } = frame
  const [axis, count, step] = side === 'x' ? [x, columns, steps[1]] : [y, rows, steps[0]]
  const at = (i: number): number => (side === 'x' ? row * columns + i : i * columns + column)
  const places = axis.places && Float64Array.from({ length: count }, (_, i) => axis.places![i * step]!)
  const thinned = step === 1 ? axis : { ...axis, length: count, places, label: (i: number) => axis.label(i * step) }
  return { axis: thinned, values: Float64Array.from({ length: count }, (_, i) => values[at(i)]!), name, units }
}
