// Handles pointers and keys on the picture.
import { byId } from './dom.ts'
import type { Frame } from './frame.ts'
import type { MapView } from './map-view.ts'
import type { ViewState } from './state.ts'

/** Actions of the page. */
export interface PointerActions {
  readonly zoom: number
  /** Cell whose value is shown, or -1. */
  readonly cell: number
  /** Shows another part of the picture. */
  look(part: Pick<ViewState, 'x' | 'y' | 'zoom'>): void
  /** Shows the value of a cell; `speak` also announces it to screen readers. */
  readOut(cell: number, speak?: boolean): void
  /** Shows the profiles through a cell; -1 closes them. */
  choose(cell: number): void
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
}

/** Binds pointer, wheel and keys: they show values, choose cells, zoom and move the picture. */
export function bindPointer(map: MapView, actions: PointerActions): void {
  const { look, readOut, choose } = actions
  const zoomBy = (times: number): void => {
    if (map.frame !== undefined) look(map.moved(0, 0, actions.zoom * times))
  }
  const surface = byId('canvas')
  let pending = 0
  let [left, top] = [0, 0]
  /** Last position of a drag. */
  let drag: { x: number; y: number; id: number; moved: boolean } | undefined
  const point = (): void => {
    pending = 0
    const at = map.cellAt(left, top)
    if (at !== actions.cell) readOut(at)
  }
  surface.onpointermove = (event) => {
    if (drag?.id === event.pointerId && actions.zoom > 1) {
      const [byX, byY] = [event.clientX - drag.x, event.clientY - drag.y]
      if (drag.moved || Math.hypot(byX, byY) > 4) {
        drag = { x: event.clientX, y: event.clientY, id: drag.id, moved: true }
        look(map.moved(byX, byY, actions.zoom))
        return
      }
    }
    left = event.offsetX
    top = event.offsetY
    if (pending === 0) pending = requestAnimationFrame(point)
  }
  surface.onpointerdown = (event) => {
    drag = { x: event.clientX, y: event.clientY, id: event.pointerId, moved: false }
    if (actions.zoom > 1) surface.setPointerCapture(event.pointerId)
  }
  surface.onpointerup = (event) => {
    const isClick = drag?.id === event.pointerId && !drag.moved
    drag = undefined
    if (isClick) choose(map.cellAt(event.offsetX, event.offsetY))
  }
  surface.onpointercancel = () => {
    drag = undefined
  }
  surface.addEventListener(
    'wheel',
    (event) => {
      if (map.frame === undefined || !(event.ctrlKey || event.metaKey || actions.zoom > 1 || event.shiftKey)) return
      event.preventDefault()
      look(map.moved(0, 0, actions.zoom * Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY))
    },
    { passive: false },
  )
  surface.ondblclick = (event) => look(map.moved(0, 0, actions.zoom * 2, event.offsetX, event.offsetY))
  byId('zoom-in').onclick = () => zoomBy(2)
  byId('zoom-out').onclick = () => zoomBy(0.5)
  surface.onkeydown = (event) => {
    const frame = map.frame
    if (frame === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    const by = MOVES[event.key]
    if (by !== undefined) {
      event.preventDefault()
      if (event.shiftKey) look(map.moved(-by[1] * 60, -by[0] * 60, actions.zoom))
      else readOut(step(map, actions.cell, frame, by), true)
    } else if (event.key === '+') zoomBy(2)
    else if (event.key === '-') zoomBy(0.5)
    else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      choose(actions.cell)
    } else if (event.key === 'Escape') choose(-1)
  }
}

/**
 * Returns the cell beside the current one, in the direction of the display. Crosses the edge of global maps.
 */
function step(map: MapView, cell: number, { rows, columns, values }: Frame, [down, right]: readonly [number, number]): number {
  if (values.length === 0) return -1
  if (cell < 0) return (rows >> 1) * columns + (columns >> 1)
  const [rowsTurned, columnsTurned] = map.turned
  const row = Math.floor(cell / columns) + (rowsTurned ? -down : down)
  const column = (cell % columns) + (columnsTurned ? -right : right)
  const within = (position: number, length: number): number => Math.min(length - 1, Math.max(0, position))
  return within(row, rows) * columns + (map.isGlobal ? (column + columns) % columns : within(column, columns))
}
