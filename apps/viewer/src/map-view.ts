// The heat map of the page. It draws frames, finds the cell under the pointer, zooms and moves.
import { pixelOfText } from './colours.ts'
import { byId, sizeCanvas, themeColour } from './dom.ts'
import { drawAround, type Figure, type Layout, layOut, type Scale } from './figure.ts'
import type { Frame } from './frame.ts'
import {
  aspectOf,
  columnOfPixel,
  type Geometry,
  geometryOf,
  middleOf,
  type PixelCells,
  pixelCells,
  placeOnPicture,
  type Rectangle,
  windowOf,
} from './geometry.ts'
import { paint } from './paint.ts'
import type { ViewState } from './state.ts'

export interface Scene {
  readonly frame: Frame
  readonly scale: Scale
  readonly caption: string
  readonly coasts: Int16Array | Float64Array | undefined
  readonly state: Pick<ViewState, 'projection' | 'x' | 'y' | 'zoom'>
  valueText(value: number): string
}

/** Largest fraction of the window's height that a map fills. */
const MOST_OF_WINDOW = 0.62

export class MapView {
  readonly #heat = byId<HTMLCanvasElement>('canvas')
  readonly #around = byId<HTMLCanvasElement>('around')
  readonly #marker = byId('marker')
  #scene: Scene | undefined
  #geometry: Geometry | undefined
  #layout: Layout | undefined
  #seen: Rectangle | undefined
  #cells: PixelCells | undefined
  #image: ImageData | undefined
  #pixels = new Uint32Array(0)
  /** Key of the inputs of geometry and cells. */
  #made = ''
  #drawn = ''
  readonly #logs = new WeakMap<Frame, Frame>()

  /** Draws a scene, and recomputes only parts that have changed. */
  draw(scene: Scene): void {
    const { frame, state } = scene
    const isOther = this.#scene?.frame.plane !== frame.plane
    this.#scene = scene
    const width = byId('figure').clientWidth
    const made = [
      width,
      innerHeight,
      devicePixelRatio,
      frame.rows,
      frame.columns,
      frame.from,
      frame.steps,
      ...Object.values(state),
    ].join()
    if (made !== this.#made || isOther) {
      this.#made = made
      this.#layOut(scene, width)
    }
    this.#paint(scene)
    const { caption, coasts, scale } = scene
    const around = [this.#made, caption, coasts?.length, scale.low, scale.high, scale.log, scale.table[0], scale.table[128]]
    const text = [...around, frame.missing > 0, themeColour('--ink')].join()
    if (text !== this.#drawn || isOther) {
      this.#drawn = text
      drawAround(this.#around.getContext('2d')!, this.#around.width / this.#layout!.width, this.#figure())
    }
  }

  /** Draws the same scene again, for example after a change of the window or the theme. */
  redraw(): void {
    if (this.#scene === undefined) return
    this.#drawn = ''
    this.draw(this.#scene)
  }

  /** Clears the picture, for example if the requested one could not be read. */
  clear(): void {
    this.#scene = undefined
    this.#made = ''
    for (const canvas of [this.#heat, this.#around]) canvas.getContext('2d')!.clearRect(0, 0, canvas.width, canvas.height)
    this.#heat.ariaLabel = 'No picture'
    this.#marker.hidden = true
  }

  get frame(): Frame | undefined {
    return this.#scene?.frame
  }

  /** Returns the picture with its surroundings and a title, as a new canvas. */
  export(title: string, subtitle: string): HTMLCanvasElement {
    const [layout, ratio] = [this.#layout!, this.#around.width / this.#layout!.width]
    const above = 44
    const canvas = document.createElement('canvas')
    canvas.width = this.#around.width
    canvas.height = this.#around.height + Math.round(above * ratio)
    const context = canvas.getContext('2d')!
    context.fillStyle = themeColour('--paper')
    context.fillRect(0, 0, canvas.width, canvas.height)
    context.drawImage(this.#heat, Math.round(layout.map.x * ratio), Math.round((layout.map.y + above) * ratio))
    context.drawImage(this.#around, 0, Math.round(above * ratio))
    context.scale(ratio, ratio)
    context.fillStyle = themeColour('--ink')
    context.textBaseline = 'top'
    context.font = '600 15px system-ui, sans-serif'
    context.fillText(title, layout.map.x, 6)
    context.font = '12px system-ui, sans-serif'
    context.fillText(subtitle, layout.map.x, 26)
    return canvas
  }

  /** Returns the cell at a position in CSS pixels, as row × columns + column; -1 if there is none. */
  cellAt(left: number, top: number): number {
    const [cells, frame] = [this.#cells, this.#scene?.frame]
    if (cells === undefined || frame === undefined) return -1
    const { width, height } = this.#layout!.map
    const x = Math.floor((left / width) * cells.width)
    const y = Math.floor((top / height) * cells.height)
    if (x < 0 || y < 0 || x >= cells.width || y >= cells.height) return -1
    const row = cells.rowOf[y]!
    const column = columnOfPixel(cells, x, y)
    return row < 0 || column < 0 ? -1 : row * frame.columns + column
  }

  /** Outlines a cell; -1 removes the outline. */
  mark(cell: number): void {
    const [geometry, frame, seen, layout] = [this.#geometry, this.#scene?.frame, this.#seen, this.#layout]
    if (cell < 0 || geometry === undefined || frame === undefined || seen === undefined || layout === undefined) {
      this.#marker.hidden = true
      return
    }
    const [row, column] = [Math.floor(cell / frame.columns), cell % frame.columns]
    const [x, y] = middleOf(geometry, row, column)
    const [across, down] = placeOnPicture(geometry, seen, x, y)
    const { map } = layout
    const wide = Math.abs(geometry.columns.edges[column + 1]! - geometry.columns.edges[column]!)
    const tall = Math.abs(geometry.rows.edges[row + 1]! - geometry.rows.edges[row]!)
    const width = Math.max(9, (wide * map.width) / (seen.right - seen.left))
    const height = Math.max(9, (tall * map.height) / (seen.top - seen.bottom))
    const { style } = this.#marker
    style.width = `${width}px`
    style.height = `${height}px`
    style.transform = `translate(${map.x + across * map.width - width / 2}px, ${map.y + down * map.height - height / 2}px)`
    this.#marker.hidden = across < 0 || across > 1 || down < 0 || down > 1
  }

  /** Whether columns cover the whole globe. */
  get isGlobal(): boolean {
    return this.#geometry!.isGlobal
  }

  /** Whether the first row is at the bottom, and whether the first column is on the right. */
  get turned(): readonly [rows: boolean, columns: boolean] {
    const geometry = this.#geometry!
    const rises = (edges: Float64Array): boolean => edges[edges.length - 1]! > edges[0]!
    return [rises(geometry.rows.edges), !rises(geometry.columns.edges)]
  }

  /** Returns the middle of the visible part after moving it by CSS pixels, or zooming around a position. */
  moved(byX: number, byY: number, zoom: number, left?: number, top?: number): Pick<ViewState, 'x' | 'y' | 'zoom'> {
    const [seen, { map }, geometry] = [this.#seen!, this.#layout!, this.#geometry!]
    const [wide, tall] = [seen.right - seen.left, seen.top - seen.bottom]
    const before = this.#scene!.state.zoom
    const after = Math.min(64, Math.max(1, zoom))
    if (after === 1) return { x: undefined, y: undefined, zoom: 1 }
    const [shareX, shareY] = [(left ?? map.width / 2) / map.width, (top ?? map.height / 2) / map.height]
    const held = [seen.left + shareX * wide, seen.top - shareY * tall] as const
    const times = before / after
    const x = held[0] + (0.5 - shareX) * wide * times - (byX / map.width) * wide
    const y = held[1] - (0.5 - shareY) * tall * times + (byY / map.height) * tall
    const within = windowOf(geometry, { x, y, zoom: after })
    const digits = (value: number): number => Number(value.toPrecision(6))
    return { x: digits((within.left + within.right) / 2), y: digits((within.bottom + within.top) / 2), zoom: digits(after) }
  }

  #layOut({ frame, state }: Scene, width: number): void {
    const geometry = geometryOf(frame, state)
    const layout = layOut(width, Math.max(220, innerHeight * MOST_OF_WINDOW), aspectOf(geometry), geometry.isMap)
    this.#geometry = geometry
    this.#layout = layout
    this.#seen = windowOf(geometry, state)
    sizeCanvas(this.#heat, layout.map.width, layout.map.height)
    sizeCanvas(this.#around, layout.width, layout.height)
    this.#drawn = ''
    // Touching moves a zoomed picture, but scrolls the page otherwise.
    byId('figure').style.touchAction = state.zoom > 1 ? 'none' : 'pan-y'
    byId('figure').style.height = `${layout.height}px`
    this.#heat.style.left = `${layout.map.x}px`
    this.#heat.style.top = `${layout.map.y}px`
    this.#cells = pixelCells(geometry, this.#seen, this.#heat.width, this.#heat.height)
    this.#image = new ImageData(this.#heat.width, this.#heat.height)
    this.#pixels = new Uint32Array(this.#image.data.buffer)
  }

  #paint({ frame, scale }: Scene): void {
    const { low, high, log, table } = scale
    const palette = { table, line: pixelOfText(themeColour('--hatch')), paper: pixelOfText(themeColour('--paper')) }
    if (log) paint(this.#pixels, this.#cells!, this.#logOf(frame), { low: Math.log(low), high: Math.log(high) }, palette)
    else paint(this.#pixels, this.#cells!, frame, { low, high }, palette)
    this.#heat.getContext('2d')!.putImageData(this.#image!, 0, 0)
  }

  /**
   * Returns the logarithms of a frame. Values of 0 and below become -Infinity, which is below every limit.
   */
  #logOf(frame: Frame): Frame {
    let logs = this.#logs.get(frame)
    if (logs === undefined) {
      logs = { ...frame, values: Float64Array.from(frame.values, (value) => (value <= 0 ? -Infinity : Math.log(value))) }
      this.#logs.set(frame, logs)
    }
    return logs
  }

  #figure(): Figure {
    const scene = this.#scene!
    return { ...scene, layout: this.#layout!, geometry: this.#geometry!, seen: this.#seen!, valueText: scene.valueText }
  }
}
