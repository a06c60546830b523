// The page: what the user does changes the state, and the state is what is drawn and what the address says.
import type { DataArray, Dataset } from 'hyperslab/dataset'
import { type Axis, areOfMap, type Chosen, chooseAxes, readAxis, slowDimension } from './axes.ts'
import { loadCoastlines } from './coastlines.ts'
import { bindControls, showControls } from './controls.ts'
import { byId, showError } from './dom.ts'
import { type Frame, FrameCache, readFrame } from './frame.ts'
import { knownExtent, type Limits } from './limits.ts'
import { showValues } from './line-view.ts'
import { MapView, type Scene } from './map-view.ts'
import { openSource, type Source } from './opening.ts'
import { derivationOf, derive, javascriptOf } from './picture.ts'
import { Player } from './playing.ts'
import { bindPointer } from './pointer.ts'
import { Profiles } from './profiles.ts'
import { placeText, rowAndColumn, valueText } from './readout.ts'
import { save } from './save.ts'
import { KeptLimits, scaleOf } from './scale.ts'
import { makeSliders, setSlider } from './sliders.ts'
import { bindOpening } from './start.ts'
import { queryOf, START, type ViewState } from './state.ts'
import { bindTheme } from './theme.ts'
import { listVariables, showVariable } from './variables.ts'
import { isNumeric, longNameOf, plural, showBytes, unitsOf } from './words.ts'

let state: ViewState = { ...START }
let dataset: Dataset | undefined
/** What files of this machine are called; links cannot open them. */
let localName = ''
let variable: DataArray | undefined
let axes = new Map<string, Axis>()
let chosen: Chosen = { y: '', x: '', others: [] }
let known: Promise<Limits | undefined> = Promise.resolve(undefined)
/** The cell that is read out: its number in the frame, or -1. */
let cell = -1
let opening = new AbortController()
let reading = new AbortController()
let coasts: Int16Array | undefined
const cost = { requests: 0, bytes: 0 }
const frames = new FrameCache()
const map = new MapView()
const profiles = new Profiles()
const kept = new KeptLimits()
const player = new Player({
  next: (dim) => ((state.at[dim] ?? 0) + 1) % axes.get(dim)!.length,
  ahead: (dim, position) => frameOf({ ...state, at: { ...state.at, [dim]: position } }, reading.signal),
  move,
})

const slow = (): string | undefined => slowDimension(chosen, axes)
const derivation = (of: ViewState) => derivationOf(of, chosen, axes, slow())

function change(changes: Partial<ViewState>): void {
  state = { ...state, ...changes }
  history.replaceState(null, '', location.pathname + queryOf(state))
  document.documentElement.dataset['state'] = 'changed'
}

async function open(source: Source, wanted: ViewState): Promise<void> {
  opening.abort()
  player.stop()
  opening = new AbortController()
  const { signal } = opening
  showError('open-error')
  Object.assign(cost, { requests: 0, bytes: 0 })
  showCost()
  byId('announce').textContent = 'Opening'
  try {
    const count = (more: typeof cost): void => {
      cost.requests += more.requests
      cost.bytes += more.bytes
      showCost()
    }
    const opened = await openSource(source, count, signal)
    if (signal.aborted) return await opened.close()
    await dataset?.close()
    dataset = opened
    frames.clear()
    profiles.forget()
    localName = typeof source === 'string' ? '' : 'kind' in source ? source.name : (source[0]?.name ?? '')
    const arrays = Object.values({ ...opened.variables, ...opened.coords })
    listVariables(arrays, opened.problems, (array) => void pick(array, { ...START, url: state.url }))
    byId('start').hidden = true
    byId('contents').hidden = false
    const largest = [...arrays].filter(isNumeric).sort((a, b) => b.array.size - a.array.size)[0]
    const first = arrays.find(({ name }) => name === wanted.variable) ?? largest ?? arrays[0]
    state = { ...wanted, url: typeof source === 'string' ? source : '' }
    if (first === undefined) throw new Error('there are no arrays in it')
    await pick(first, first.name === wanted.variable || wanted.variable === '' ? state : { ...START, url: state.url })
  } catch (error) {
    if (!signal.aborted) showError('open-error', error)
  }
}

/** Shows a variable. */
async function pick(array: DataArray, wanted: ViewState): Promise<void> {
  player.stop()
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  variable = array
  kept.forget()
  cell = -1
  profiles.close()
  map.clear()
  showVariable(array)
  change({ ...wanted, variable: array.name })
  showError('view-error')
  try {
    // Statistics are looked for beside the coordinates.
    known = isNumeric(array) && array.dims.length > 1 ? knownExtent(array).catch(() => undefined) : Promise.resolve(undefined)
    const found = await Promise.all(array.dims.map((dim, i) => readAxis(dataset!, dim, array.shape[i]!)))
    if (signal.aborted) return
    axes = new Map(found.map((axis) => [axis.dim, axis]))
    const isPlane = array.dims.length >= 2 && isNumeric(array)
    chosen = isPlane ? chooseAxes(array.dims, axes) : { y: '', x: '', others: [] }
    const others = chosen.others.map((dim) => axes.get(dim)!)
    makeSliders(others, state.at, {
      moved: (dim, position) => {
        if (player.dim !== dim) player.stop()
        void move(dim, position)
      },
      played: (dim) => (player.dim === dim ? player.stop() : void player.play(dim)),
    })
    updateControls()
    await read()
  } catch (error) {
    if (!signal.aborted) showError('view-error', error)
  }
}

function updateControls(): void {
  const means = chosen.others.filter((dim) => axes.get(dim)!.length > 1)
  showControls(state, { isPlane: chosen.y !== '', means, canSubtract: slow() !== undefined })
}

function move(dim: string, position: number): Promise<void> {
  change({ at: { ...state.at, [dim]: position } })
  setSlider(axes.get(dim)!, position)
  return read()
}

/** Reads and draws what the state says; whatever is still being read is given up. */
async function read(): Promise<void> {
  if (variable === undefined || dataset === undefined) return
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  showError('view-error')
  byId('canvas').ariaBusy = 'true'
  try {
    if (chosen.y !== '') await readMap(signal)
    else await showValues(variable, axes, signal)
    if (signal.aborted) return
    void showCode()
    byId('canvas').ariaBusy = 'false'
    document.documentElement.dataset['state'] = 'shown'
  } catch (error) {
    if (!signal.aborted) {
      map.clear()
      byId('canvas').ariaBusy = 'false'
      showError('view-error', error)
      player.stop()
    }
  }
  if (!signal.aborted) byId('progress').hidden = true
}

const keyOf = (of: ViewState): string => JSON.stringify(derivation(of))

/** The frame of a state, from memory where it was drawn before. */
async function frameOf(of: ViewState, signal: AbortSignal): Promise<Frame> {
  const key = keyOf(of)
  const found = frames.get(key)
  if (found !== undefined) return found
  const array = derive(dataset!, derivation(of))
  const onProgress = (share: number): void => {
    if (signal.aborted) return
    byId('progress').hidden = false
    byId<HTMLProgressElement>('progress-share').value = share
  }
  const frame = await readFrame(array, chosen.y, { signal, ...(of.mean !== '' && { onProgress }) })
  signal.throwIfAborted()
  frames.set(key, frame)
  return frame
}

async function readMap(signal: AbortSignal): Promise<void> {
  const isMap = areOfMap(axes.get(chosen.y)!, axes.get(chosen.x)!)
  const shores = isMap ? loadCoastlines() : undefined
  if (state.mean !== '') byId('progress').hidden = false
  const frame = await frameOf(state, signal)
  const extent = await known
  if (shores !== undefined) coasts = await shores
  if (signal.aborted) return
  for (const each of document.querySelectorAll<HTMLElement>('.of-maps')) each.hidden = !isMap
  drawMap(frame, extent)
}

function drawMap(frame: Frame, extent: Limits | undefined): void {
  const array = variable!
  const { scale, problem } = scaleOf(array, state, kept.of(frame, state, extent) ?? { low: 0, high: 1 })
  showError('limits-error', problem)
  const units = unitsOf(array)
  const caption = `${longNameOf(array)}${units === '' ? '' : ` [${units}]`}`
  const isDifference = state.minus !== undefined
  const [y, x] = shownAxes()
  const scene: Scene = {
    frame,
    y,
    x,
    scale,
    caption,
    coasts,
    state: { projection: state.projection, x: state.x, y: state.y, zoom: state.zoom },
    valueText: (value) => valueText(array, value, { withUnits: false, isDifference }),
  }
  map.draw(scene)
  const where = whereText()
  byId('subtitle').textContent = where
  const ends = [scale.low, scale.high].map((end) => valueText(array, end, { isDifference })).join(' to ')
  const gaps = frame.missing > 0 ? `, ${plural(frame.missing, 'cell')} without a value` : ''
  const thinned = frame.steps.some((step) => step > 1) ? `, every ${frame.steps.join(' × ')}th cell` : ''
  byId('canvas').ariaLabel = `${caption}, ${where || 'the whole'}, colours from ${ends}${gaps}${thinned}`
  if (thinned !== '') byId('subtitle').textContent = `${where}${thinned}`.replace(/^, /, '')
  if (state.cell !== undefined && cell < 0) cell = cellOf(frame, state.cell)
  if (cell >= frame.values.length) cell = -1
  readOut(cell)
  if (state.cell !== undefined) showProfiles(frame)
}

const cellOf = ({ rows, columns, steps }: Frame, [row, column]: readonly [number, number]): number => {
  const [r, c] = [Math.floor(row / steps[0]), Math.floor(column / steps[1])]
  return r < rows && c < columns ? r * columns + c : -1
}

/** Where the picture lies along what it does not show. */
function whereText(): string {
  const { at, mean, minus } = derivation(state)
  const parts = Object.entries(at).map(([dim, position]) => {
    const label = axes.get(dim)!.label(position)
    const other = minus?.[dim]
    return `${dim} ${label}${other === undefined || dim !== slow() ? '' : ` less ${axes.get(dim)!.label(other)}`}`
  })
  return [...parts, ...(mean === undefined ? [] : [`mean along ${mean}`])].join(' · ')
}

/** Says which value is in a cell, and where that is. */
function readOut(at: number, speak = false): void {
  const frame = map.frame
  cell = at
  map.mark(at)
  if (frame === undefined) return
  const text = at < 0 ? 'Point at the picture, or move over it with the arrow keys; click for profiles.' : cellText(frame, at)
  byId('readout').textContent = text
  if (speak) byId('announce').textContent = text
}

function cellText(frame: Frame, at: number): string {
  const value = frame.values[at]!
  const text = Number.isNaN(value) ? 'no value' : valueText(variable!, value, { isDifference: state.minus !== undefined })
  return `${text} · ${placeText(frame, rowAndColumn(frame, at), shownAxes())}`
}

const shownAxes = (): [y: Axis, x: Axis] => [axes.get(chosen.y)!, axes.get(chosen.x)!]

function showProfiles(frame: Frame): void {
  const at = cellOf(frame, state.cell!)
  if (at < 0) return
  const [row, column] = rowAndColumn(frame, at)
  const [i, j] = [row * frame.steps[0], column * frame.steps[1]]
  const dim = slow()
  const { at: positions } = derivation(state)
  const { [dim ?? '']: _, ...rest } = positions
  const series =
    dim === undefined || state.mean === dim
      ? undefined
      : { array: variable!.isel({ ...rest, [chosen.y]: i, [chosen.x]: j }), axis: axes.get(dim)! }
  const [y, x] = shownAxes()
  const name = longNameOf(variable!)
  const of = JSON.stringify([state.variable, rest, i, j])
  void profiles.show({
    frame,
    row,
    column,
    y,
    x,
    name,
    units: unitsOf(variable!),
    place: placeText(frame, [row, column], [y, x]),
    series,
    of,
  })
}

function showCost(): void {
  byId<HTMLOutputElement>('cost').value =
    cost.requests > 0 ? `Read so far: ${plural(cost.requests, 'request')}, ${showBytes(cost.bytes)}` : ''
}

/** The same as code, made when it is looked at. */
async function showCode(): Promise<void> {
  if (!byId<HTMLDetailsElement>('code').open || variable === undefined || dataset === undefined) return
  const of = derivation(state)
  byId<HTMLTextAreaElement>('javascript').value = javascriptOf(
    state.url === '' ? localName : new URL(state.url, location.href).href,
    of,
  )
  byId<HTMLTextAreaElement>('python').value = await derive(dataset, of)
    .toPython()
    .catch((error: unknown) => `# ${error instanceof Error ? error.message : String(error)}`)
}

/** Draws once more what is in memory, after a change of what does not have to be read. */
function redraw(changes: Partial<ViewState>): void {
  if (changes.limits !== undefined) kept.forget()
  change(changes)
  updateControls()
  if (map.frame !== undefined) void known.then((extent) => drawMap(map.frame!, extent)).then(settled)
}

const settled = (): void => {
  document.documentElement.dataset['state'] = 'shown'
}

/** Computes something else of the variable, and reads it. */
function compute(changes: Partial<ViewState>): void {
  player.stop()
  change(changes)
  updateControls()
  void read()
}

/** Shows the profiles through a cell; -1 closes them. */
function choose(at: number): void {
  const frame = map.frame
  if (frame === undefined) return
  if (at < 0) {
    change({ cell: undefined })
    profiles.close()
  } else {
    const [row, column] = rowAndColumn(frame, at)
    change({ cell: [row * frame.steps[0], column * frame.steps[1]] })
    readOut(at)
    showProfiles(frame)
  }
  settled()
}

let width = 0
new ResizeObserver(([entry]) => {
  const now = entry!.contentRect.width
  if (now === width || now === 0) return
  width = now
  map.redraw()
  map.mark(cell)
}).observe(byId('figure'))

bindControls({
  redraw,
  takeMean: (mean) => compute({ mean, minus: undefined }),
  subtract: (isShown) => compute({ minus: isShown ? (state.at[slow()!] ?? 0) : undefined }),
  showCode: () => void showCode(),
  savePicture() {
    const canvas = map.export(longNameOf(variable!), whereText())
    canvas.toBlob((blob) => blob && save(blob, `${state.variable}.png`), 'image/png')
  },
})
bindPointer(map, {
  get zoom() {
    return state.zoom
  },
  get cell() {
    return cell
  },
  look: redraw,
  readOut,
  choose,
})
bindTheme(() => map.redraw())
bindOpening(open)
