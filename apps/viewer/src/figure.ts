// Draws the surroundings of the heat map: ticks, coastlines, and the colour bar with its legend.
import { placeInWords } from './axes.ts'
import { traceCoastlines, traceShores } from './coastlines.ts'
import { themeColour } from './dom.ts'
import type { Frame } from './frame.ts'
import { type Geometry, middleOf, placeOnPicture, type Rectangle } from './geometry.ts'
import { type Limits, ticksBetween } from './limits.ts'
import { isHatched } from './paint.ts'

/** A box in CSS pixels. */
export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Positions of the parts of a figure. */
export interface Layout {
  readonly width: number
  readonly height: number
  readonly map: Box
  readonly bar: Box
}

/** Left margins. Dates and heights need more room than degrees. */
const LEFT = { map: 52, other: 84 } as const
const MARGIN = { right: 16, top: 6, ticks: 24, bar: 14, below: 44 } as const

export function layOut(width: number, most: number, aspect: number, isMap: boolean): Layout {
  const left = isMap ? LEFT.map : LEFT.other
  const room = Math.max(80, width - left - MARGIN.right)
  const across = Math.floor(Math.min(room, most / aspect))
  const map = { x: left, y: MARGIN.top, width: across, height: Math.max(40, Math.round(across * aspect)) }
  const bar = { x: map.x, y: map.y + map.height + MARGIN.ticks + 6, width: across, height: MARGIN.bar }
  return { width, height: bar.y + bar.height + MARGIN.below, map, bar }
}

export interface Scale extends Limits {
  readonly table: Uint32Array
  readonly log: boolean
}

export interface Figure {
  readonly layout: Layout
  readonly frame: Frame
  readonly geometry: Geometry
  readonly seen: Rectangle
  readonly scale: Scale
  /** Meaning of the colours, with units. */
  readonly caption: string
  /** Coastlines in degrees on maps, in fractions of the sides on other planes. */
  readonly coasts: Int16Array | Float64Array | undefined
  valueText(value: number): string
}

const FONT = '12px system-ui, sans-serif'

/** Draws everything except the heat map, whose area stays transparent. */
export function drawAround(context: CanvasRenderingContext2D, ratio: number, figure: Figure): void {
  const { layout, geometry, seen, coasts } = figure
  const { map } = layout
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, layout.width, layout.height)
  context.font = FONT
  const [ink, faint] = [themeColour('--ink'), themeColour('--soft')]
  if (coasts !== undefined) {
    context.save()
    context.beginPath()
    context.rect(map.x, map.y, map.width, map.height)
    context.clip()
    context.beginPath()
    if (coasts instanceof Int16Array) traceCoastlines(context, coasts, geometry, seen, map)
    else traceShores(context, coasts, geometry, seen, map)
    context.lineJoin = 'round'
    // A dark line over a light one is visible on every colour. Small maps have thin lines.
    const width = Math.min(1, Math.max(0.5, map.width / 800))
    context.lineWidth = 2.5 * width
    context.strokeStyle = 'rgb(255 255 255 / 40%)'
    context.stroke()
    context.lineWidth = width
    context.strokeStyle = 'rgb(16 20 28 / 85%)'
    context.stroke()
    context.restore()
  }
  context.strokeStyle = faint
  context.lineWidth = 1
  context.strokeRect(map.x - 0.5, map.y - 0.5, map.width + 1, map.height + 1)
  context.fillStyle = ink
  drawTicks(context, figure)
  drawBar(context, figure)
}

function drawTicks(context: CanvasRenderingContext2D, { layout: { map }, geometry, seen, frame }: Figure): void {
  const flat = geometry.isMap && geometry.projection.scaleAt(60) === 1
  context.textBaseline = 'top'
  if (!geometry.isMap || flat) {
    let free = Number.NEGATIVE_INFINITY
    for (const [share, label] of ticksAlong(frame, geometry, seen, 'x', map.width / 110)) {
      const half = context.measureText(label).width / 2
      const at = Math.min(map.x + map.width + 12 - half, Math.max(half, map.x + share * map.width))
      if (at - half < free) continue
      free = at + half + 8
      context.textAlign = 'center'
      context.fillText(label, at, map.y + map.height + 7)
      context.fillRect(Math.round(map.x + share * map.width), map.y + map.height + 1, 1, 4)
    }
  }
  context.textAlign = 'right'
  context.textBaseline = 'middle'
  for (const [share, label] of ticksAlong(frame, geometry, seen, 'y', map.height / 50)) {
    const at = map.y + share * map.height
    context.fillText(shortened(context, label, map.x - 8), map.x - 8, Math.max(map.y + 6, Math.min(map.y + map.height - 6, at)))
    context.fillRect(map.x - 5, Math.round(at), 4, 1)
  }
}

function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text
  let end = text.length
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end--
  return `${text.slice(0, end)}…`
}

/** Returns the positions of ticks, as fractions of the picture, with their labels. */
function ticksAlong(
  { plane, rows, columns, from, steps }: Frame,
  geometry: Geometry,
  seen: Rectangle,
  side: 'x' | 'y',
  about: number,
): [share: number, label: string][] {
  const most = Math.max(2, Math.floor(about))
  const axis = plane[side]
  const inside = ([share]: [number, string]): boolean => share >= 0 && share <= 1
  if (geometry.isMap) {
    const { projection, centre } = geometry
    const [first, last] =
      side === 'x'
        ? [seen.left + centre, seen.right + centre]
        : [seen.bottom, seen.top].map((up, i) => fallback(projection.latitudeAt(up), [-90, 90][i]!))
    const low = first!
    const high = last!
    const distances = [90, 60, 45, 30, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1]
    const every = distances.find((each) => (high - low) / each >= Math.min(most, 4)) ?? (high - low) / 4
    const least = Math.ceil(low / every - 1e-9)
    const ticks = Array.from({ length: Math.floor(high / every + 1e-9) - least + 1 }, (_, i) => (least + i) * every)
    return ticks
      .map((place): [number, string] => {
        const [across, down] = placeOnPicture(geometry, seen, side === 'x' ? place : centre, side === 'x' ? 0 : place)
        const label = placeInWords(Number(place.toPrecision(6)), axis.kind, axis.units || 'degrees')
        return [side === 'x' ? across : down, label]
      })
      .filter(inside)
  }
  const isX = side === 'x'
  if (geometry.isToScale) {
    const [low, high] = isX ? [seen.left, seen.right] : [seen.bottom, seen.top]
    const ticks = ticksBetween({ low, high }, Math.min(most, 8))
    // 1560 km is easier to read than 1560000 m.
    const isLong = axis.units === 'm' && high - low >= 20_000
    return ticks.map((place) => {
      const [across, down] = placeOnPicture(geometry, seen, isX ? place : seen.left, isX ? seen.top : place)
      const label = isLong ? placeInWords(place / 1000, undefined, 'km') : placeInWords(place, undefined, axis.units)
      return [isX ? across : down, label]
    })
  }
  const [count, first, step] = isX ? [columns, from[1], steps[1]] : [rows, from[0], steps[0]]
  const { edges } = geometry[isX ? 'columns' : 'rows']
  const drawn = Math.abs(edges[count]! - edges[0]!)
  const share = Math.min(1, (isX ? seen.right - seen.left : seen.top - seen.bottom) / drawn)
  const every = Math.max(1, Math.ceil((count * share) / Math.min(most, 12)))
  return Array.from({ length: Math.ceil(count / every) }, (_, i): [number, string] => {
    const at = i * every
    const [x, y] = middleOf(geometry, isX ? 0 : at, isX ? at : 0)
    const place = placeOnPicture(geometry, seen, x, y)[isX ? 0 : 1]!
    const label = axis.label(first + at * step)
    // Labels of positions begin with the name of the dimension, which the first one says for all.
    return [place, axis.places === undefined && i > 0 ? label.replace(`${axis.dim} `, '') : label]
  }).filter(inside)
}

const fallback = (value: number, other: number): number => (Number.isNaN(value) ? other : value)

function drawBar(context: CanvasRenderingContext2D, { layout: { bar }, scale, caption, frame, valueText }: Figure): void {
  const { table, low, high, log } = scale
  for (let x = 0; x < bar.width; x++) {
    const pixel = table[Math.min(255, Math.floor((x * 256) / bar.width))]!
    context.fillStyle = `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`
    context.fillRect(bar.x + x, bar.y, 1.5, bar.height)
  }
  context.fillStyle = themeColour('--ink')
  context.textAlign = 'center'
  context.textBaseline = 'top'
  const span = log ? Math.log(high / low) : high - low
  let free = Number.NEGATIVE_INFINITY
  for (const tick of ticksBetween(scale, Math.max(2, bar.width / 80), log)) {
    const share = span > 0 ? (log ? Math.log(tick / low) : tick - low) / span : 0.5
    const at = bar.x + share * bar.width
    const label = valueText(tick)
    const half = context.measureText(label).width / 2
    if (at - half < free) continue
    free = at + half + 8
    context.fillRect(Math.round(at), bar.y + bar.height, 1, 4)
    context.fillText(label, at, bar.y + bar.height + 6)
  }
  context.textAlign = 'left'
  const under = bar.y + bar.height + 24
  const room = frame.missing > 0 ? bar.width - 90 : bar.width
  context.fillText(shortened(context, caption, room), bar.x, under)
  if (frame.missing > 0) {
    context.textAlign = 'right'
    context.fillText('no value', bar.x + bar.width, under)
    drawHatched(context, bar.x + bar.width - 76, under + 1)
  }
}

/** Draws a sample of the hatching. */
function drawHatched(context: CanvasRenderingContext2D, left: number, top: number): void {
  context.fillStyle = themeColour('--hatch')
  for (let y = 0; y < 12; y++) for (let x = 0; x < 20; x++) if (isHatched(x, y)) context.fillRect(left + x, top + y, 1, 1)
  context.strokeStyle = themeColour('--soft')
  context.strokeRect(left - 0.5, top - 0.5, 21, 13)
}
