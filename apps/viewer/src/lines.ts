// Draws values along one dimension as a line, with uPlot.
import type uPlot from 'uplot'
import { placeInWords } from './axes.ts'
import { element, themeColour } from './dom.ts'
import type { Profile } from './profile.ts'
import { show } from './words.ts'

/** Steps between ticks in degrees, so that ticks fall on right angles or simple parts of them. */
const DEGREES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 45, 60, 90]

/**
 * Draws a line, with gaps for missing values, and replaces the content of the element. uPlot is loaded with
 * the first line, so that maps do not wait for it.
 */
export async function drawLine(
  place: HTMLElement,
  { axis, values, name, units }: Profile,
  width: number,
  height: number,
): Promise<void> {
  const { default: Plot } = await import('uplot')
  place.replaceChildren()
  const [ink, faint, accent] = ['--soft', '--faint', '--accent'].map(themeColour) as [string, string, string]
  const [first, last] = [axis.places?.[0] ?? 0, axis.places?.at(-1) ?? 0]
  // Longitudes around the globe are drawn from half a turn west of Greenwich, as on maps.
  const isTurned = axis.kind === 'longitude' && Math.abs(last - first) > 300
  const placeOf = (place: number): number => (isTurned ? place - 360 * Math.round(place / 360) : place)
  const places = Array.from({ length: values.length }, (_, i) => placeOf(axis.places?.[i] ?? i))
  // uPlot requires ascending places.
  const order = places.map((_, i) => i).sort((a, b) => places[a]! - places[b]!)
  const isLabelled = axis.places !== undefined
  const inDegrees = {
    incrs: DEGREES,
    values: (_: uPlot, ticks: number[]) => ticks.map((tick) => placeInWords(tick, axis.kind, axis.units)),
  }
  const reading = element('p', { className: 'reading', textContent: ' ' })
  const grid = { stroke: faint, width: 1 }
  const font = '12px system-ui, sans-serif'
  const options: uPlot.Options = {
    width,
    height,
    // Rounding to whole pixels would bend straight lines.
    pxAlign: 0,
    legend: { show: false },
    scales: { x: { time: axis.isTime } },
    tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    cursor: { drag: { x: true, y: false } },
    hooks: {
      setCursor: [
        ({ cursor: { idx } }) => {
          const at = idx == null ? undefined : order[idx]
          reading.textContent = at === undefined ? ' ' : `${show(values[at])} ${units} · ${axis.label(at)}`
        },
      ],
    },
    axes: [
      {
        stroke: ink,
        grid,
        font,
        ...(isLabelled ? axis.isGlobe && inDegrees : { values: (_, ticks) => ticks.map(String) }),
        // Times need a second line for the year.
        ...(!axis.isTime && { size: 32 }),
        ...(height > 200 &&
          !axis.isTime && { label: `${axis.dim} ${axis.units && `[${axis.units}]`}`, labelSize: 18, labelFont: font }),
      },
      { stroke: ink, grid, font, size: 62, label: units, labelSize: units === '' ? 0 : 18, labelFont: font },
    ],
    series: [
      {},
      {
        label: name,
        stroke: accent,
        width: 1.5,
        points: { show: values.length < 60, size: 5 },
        value: (_, value) => String(value),
      },
    ],
  }
  const numbers = order.map((i) => (Number.isNaN(values[i]!) ? null : values[i]!))
  new Plot(options, [order.map((i) => places[i]!), numbers], place)
  place.append(reading)
}
