// Shows values through one cell: along both drawn axes, from memory, and along the slow one, which is read.
import type { DataArray } from 'hyperslab/dataset'
import type { Axis } from './axes.ts'
import { byId, element, showError } from './dom.ts'
import { type Frame, toFloats } from './frame.ts'
import { drawLine } from './lines.ts'
import { csvOf, type Profile } from './profile.ts'
import { save } from './save.ts'
import { plural, showBytes } from './words.ts'

/** Cell whose profiles are shown. */
export interface Cell {
  readonly frame: Frame
  /** Number of the cell in the frame. */
  readonly at: number
  readonly name: string
  readonly units: string
  readonly place: string
  /** Values along the slow dimension, unread. */
  readonly series: Series | undefined
  /** Key of the series. It is read again only if the key changes. */
  readonly of: string
}

interface Series {
  readonly axis: Axis
  /**
   * Returns the series or, with `isComputed` false, the values that it is computed from, for an estimate of
   * the cost.
   */
  open(isComputed: boolean): Promise<DataArray>
}

/** Limits up to which a series is read at once. A larger one waits for a click. */
const MOST_REQUESTS = 64
const MOST_BYTES = 2 ** 22

export class Profiles {
  #reading = new AbortController()
  /** The last series that was read. */
  #series: { readonly of: string; readonly profile: Profile } | undefined

  /** Drops the series, for example after a dataset is closed. */
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
    try {
      await Promise.all([this.#chart(along(cell, 'x')), this.#chart(along(cell, 'y'))])
      if (cell.series === undefined || signal.aborted) return
      if (this.#series?.of === cell.of) return await this.#chart(this.#series.profile, true)
      const { open, axis } = cell.series
      const { requests, bytes } = await (await open(false)).array.plan()
      if (signal.aborted) return
      const reads = requests === undefined ? 'an unknown number of reads' : plural(requests, 'read')
      byId('profile-cost').textContent = `The series along ${axis.dim} takes ${reads} for ${showBytes(bytes)} of values.`
      const read = async (): Promise<void> => {
        byId('read-series').hidden = true
        try {
          const array = await open(true)
          const { data } = await array.array.get([null], { signal })
          const values = toFloats(array, data as ArrayLike<number | bigint>)
          if (signal.aborted) return
          this.#series = { of: cell.of, profile: { axis, values, name: cell.name, units: cell.units } }
          await this.#chart(this.#series.profile, true)
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

  async #chart(profile: Profile, first = false): Promise<void> {
    const { units } = profile.axis
    const button = element('button', { type: 'button', textContent: 'CSV', title: 'Save as comma-separated values' })
    button.ariaLabel = `Save the profile along ${profile.axis.dim} as CSV`
    button.onclick = () => save(new Blob([csvOf(profile)], { type: 'text/csv' }), `${profile.name}-${profile.axis.dim}.csv`)
    const chart = element('div')
    const figure = element(
      'figure',
      {},
      element('figcaption', {}, `along ${profile.axis.dim}${units === '' || profile.axis.isGlobe ? '' : ` [${units}]`}`, button),
      chart,
    )
    figure.dataset['dim'] = profile.axis.dim
    byId('charts')[first ? 'prepend' : 'append'](figure)
    await drawLine(chart, profile, Math.max(200, byId('charts').clientWidth), 190)
  }
}

/** Returns the values of a frame through a cell along one of its axes. */
function along({ frame, at, name, units }: Cell, side: 'x' | 'y'): Profile {
  const { values, columns, from, steps, plane } = frame
  const isX = side === 'x'
  const [first, step] = [from[isX ? 1 : 0], steps[isX ? 1 : 0]]
  const [start, stride] = isX ? [at - (at % columns), 1] : [at % columns, columns]
  const count = isX ? columns : frame.rows
  const axis = plane[side]
  const places = axis.places && Float64Array.from({ length: count }, (_, i) => axis.places![first + i * step]!)
  const part =
    count === axis.length ? axis : { ...axis, length: count, places, label: (i: number) => axis.label(first + i * step) }
  return { axis: part, values: Float64Array.from({ length: count }, (_, i) => values[start + i * stride]!), name, units }
}
