// The page: what the user does changes the state, and the state is what is drawn and what the address says.
import type { DataArray, Dataset } from 'hyperslab/dataset'
import { type Axis, areOfMap, type Chosen, chooseAxes, readAxis, slowDimension } from './axes.ts'
import { loadCoastlines } from './coastlines.ts'
import { tableOf } from './colours.ts'
import { bindControls, showControls } from './controls.ts'
import { byId, showError } from './dom.ts'
import { type Frame, FrameCache, readFrame, toFloats } from './frame.ts'
import { extentOf, knownExtent, type Limits, percentilesOf, suitingColours, symmetric } from './limits.ts'
import { drawLine } from './lines.ts'
import { MapView, type Scene } from './map-view.ts'
import { openSource, type Source } from './opening.ts'
import { derivationOf, derive, javascriptOf } from './picture.ts'
import { bindPointer } from './pointer.ts'
import { Profiles } from './profiles.ts'
import { save } from './save.ts'
import { makeSliders, setSlider, showPlaying } from './sliders.ts'
import { bindOpening } from './start.ts'
import { queryOf, START, type ViewState } from './state.ts'
import { bindTheme } from './theme.ts'
import { listVariables, showVariable } from './variables.ts'
import { isNumeric, longNameOf, plural, show, showBytes, summarize, unitsOf, unitsOfFloats } from './words.ts'

/** Elements of a variable of one dimension that are drawn at most, and of text that are shown. */
const MOST_POINTS = 2 ** 20
const MOST_TEXTS = 1000
/** How long a frame is shown at least while it is played, in milliseconds; longer for those who want little motion. */
const frameTime = (): number => (matchMedia('(prefers-reduced-motion: reduce)').matches ? 1000 : 250)

let state: ViewState = { ...START }
let dataset: Dataset | undefined
/** What files of this machine are called; links cannot open them. */
let localName = ''
let variable: DataArray | undefined
let axes = new Map<string, Axis>()
let chosen: Chosen = { y: '', x: '', others: [] }
let known: Promise<Limits | undefined> = Promise.resolve(undefined)
let kept: { readonly of: string; readonly limits: Limits } | undefined
let playing: string | undefined
/** The cell that is read out: its number in the frame, or -1. */
let cell = -1
let opening = new AbortController()
let reading = new AbortController()
let coasts: Int16Array | undefined
const cost = { requests: 0, bytes: 0 }
const frames = new FrameCache()
const map = new MapView()
const profiles = new Profiles()

const slow = (): string | undefined => slowDimension(chosen, axes)
const derivation = (of: ViewState) => derivationOf(of, chosen, axes, slow())

function change(changes: Partial<ViewState>): void {
  state = { ...state, ...changes }
  history.replaceState(null, '', location.pathname + queryOf(state))
  document.documentElement.dataset['state'] = 'changed'
}

async function open(source: Source, wanted: ViewState): Promise<void> {
  opening.abort()
  stop()
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
  stop()
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  variable = array
  kept = undefined
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
        if (playing !== dim) stop()
        move(dim, position)
      },
      played: (dim) => (playing === dim ? stop() : play(dim)),
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
    else await readLine(variable, signal)
    if (signal.aborted) return
    byId('canvas').ariaBusy = 'false'
    document.documentElement.dataset['state'] = 'shown'
  } catch (error) {
    if (!signal.aborted) {
      map.clear()
      byId('canvas').ariaBusy = 'false'
      showError('view-error', error)
      stop()
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
  showCode()
}

/** What the colours stand for, of what is drawn. */
function limitsFor(frame: Frame, extent: Limits | undefined): Limits | undefined {
  const isPlain = state.mean === '' && state.minus === undefined
  const of = [state.variable, state.mean, state.minus !== undefined, state.limits, state.low, state.high].join()
  // A picture of one value, as the difference of a month from itself, says nothing of those that follow.
  const isUseful = kept !== undefined && kept.of === of && kept.limits.low < kept.limits.high
  if (isUseful && (state.keep || (state.limits === 'all' && extent !== undefined && isPlain))) return kept!.limits
  const shown = extentOf(frame.values)
  let limits = shown
  if (state.limits === 'all' && isPlain) limits = extent ?? shown
  else if (state.limits === 'percentiles') limits = percentilesOf(frame.values)
  else if (state.limits === 'own') limits = { low: state.low ?? shown?.low ?? 0, high: state.high ?? shown?.high ?? 1 }
  if (limits !== undefined) kept = { of, limits }
  return limits
}

function drawMap(frame: Frame, extent: Limits | undefined): void {
  const array = variable!
  const found = limitsFor(frame, extent) ?? { low: 0, high: 1 }
  const colours = state.colours === 'auto' ? suitingColours(array, state, found) : state.colours
  const isAround0 = state.symmetric || (colours === 'diverging' && state.limits !== 'own')
  showError('limits-error')
  let limits = isAround0 ? symmetric(found) : found
  let log = state.log
  if (limits.low > limits.high) {
    showError('limits-error', `The lower limit, ${show(limits.low)}, is above the upper one, ${show(limits.high)}.`)
    limits = { low: limits.high, high: limits.low }
  }
  if (log && !(limits.low > 0)) {
    showError('limits-error', `A logarithmic scale needs limits above 0, and the lower one is ${show(limits.low)}.`)
    log = false
  }
  const units = unitsOf(array)
  const caption = `${longNameOf(array)}${units === '' ? '' : ` [${units}]`}`
  const y = axes.get(chosen.y)!
  const x = axes.get(chosen.x)!
  const scene: Scene = {
    frame,
    y,
    x,
    scale: { ...limits, table: tableOf(colours), log },
    caption,
    coasts,
    state: { projection: state.projection, x: state.x, y: state.y, zoom: state.zoom },
    valueText: (value) => valueText(value, false),
  }
  map.draw(scene)
  const where = whereText()
  byId('subtitle').textContent = where
  const ends = `${valueText(limits.low)} to ${valueText(limits.high)}`
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

function valueText(value: number, withUnits = true): string {
  if (variable!.dtype === 'timestamp_ns' && state.minus === undefined) return show(new Date(value * 1000))
  return withUnits ? `${show(value)} ${unitsOf(variable!)}`.trim() : show(value)
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
  const [row, column] = [Math.floor(at / frame.columns), at % frame.columns]
  const value = frame.values[at]!
  return `${Number.isNaN(value) ? 'no value' : valueText(value)} · ${placeText(frame, row, column)}`
}

function placeText({ steps }: Frame, row: number, column: number): string {
  const [i, j] = [row * steps[0], column * steps[1]]
  return [[chosen.y, i] as const, [chosen.x, j] as const]
    .map(([dim, index]) => {
      const { places, isGlobe, isTime, label } = axes.get(dim)!
      // What has no coordinate names its dimension itself; dates and places of the globe need no name.
      const isNamed = places === undefined || isGlobe || isTime
      return isNamed ? label(index) : `${dim} ${label(index)}`
    })
    .join(', ')
}

function showProfiles(frame: Frame): void {
  const at = cellOf(frame, state.cell!)
  if (at < 0) return
  const [row, column] = [Math.floor(at / frame.columns), at % frame.columns]
  const [i, j] = [row * frame.steps[0], column * frame.steps[1]]
  const dim = slow()
  const { at: positions } = derivation(state)
  const { [dim ?? '']: _, ...rest } = positions
  const series =
    dim === undefined || state.mean === dim
      ? undefined
      : { array: variable!.isel({ ...rest, [chosen.y]: i, [chosen.x]: j }), axis: axes.get(dim)! }
  const [y, x] = [axes.get(chosen.y)!, axes.get(chosen.x)!]
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
    place: placeText(frame, row, column),
    series,
    of,
  })
}

/** Reads a variable of one dimension, or none, or of text. */
async function readLine(array: DataArray, signal: AbortSignal): Promise<void> {
  byId('subtitle').textContent = summarize(array)
  const isLine = isNumeric(array) && array.dims.length === 1
  byId('line').hidden = !isLine
  byId('text').hidden = isLine
  const most = isLine ? MOST_POINTS : MOST_TEXTS
  if (array.array.size > most && array.dims.length > 1) throw new Error(`${array.array.size} values of text are too many to show`)
  const part = array.array.size > most ? array.isel({ [array.dims[0]!]: firstOf(most) }) : array
  const result = await part.get({ signal })
  if (signal.aborted) return
  const data = array.dims.length === 0 ? [result] : (result as { data: ArrayLike<unknown> }).data
  if (isLine) {
    const axis = axes.get(array.dims[0]!)!
    const values = toFloats(array, data as ArrayLike<number | bigint>)
    drawLine(byId('line'), { axis, values, name: longNameOf(array), units: unitsOfFloats(array) }, byId('view').clientWidth, 320)
    const extent = extentOf(values)
    byId('line').ariaLabel =
      `${longNameOf(array)} along ${axis.dim}${extent === undefined ? '' : `, ${valueText(extent.low)} to ${valueText(extent.high)}`}`
    byId('line').role = 'img'
  } else byId<HTMLTextAreaElement>('text').value = Array.from(data as ArrayLike<unknown>, (value) => show(value)).join('\n')
  showCode()
}

const firstOf = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

/** Shows frame after frame along a dimension; the next one is read while one is seen. */
async function play(dim: string): Promise<void> {
  stop()
  playing = dim
  showPlaying(dim)
  const { length } = axes.get(dim)!
  const next = (): number => ((state.at[dim] ?? 0) + 1) % length
  const run = {}
  current = run
  while (playing === dim && current === run) {
    const began = performance.now()
    const ahead = frameOf({ ...state, at: { ...state.at, [dim]: next() } }, reading.signal).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, frameTime() - (performance.now() - began)))
    await ahead
    if (playing !== dim || current !== run) return
    await move(dim, next())
  }
}

let current: object | undefined

function stop(): void {
  playing = undefined
  current = undefined
  showPlaying(undefined)
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
  if (changes.limits !== undefined) kept = undefined
  change(changes)
  updateControls()
  if (map.frame !== undefined) void known.then((extent) => drawMap(map.frame!, extent)).then(settled)
}

const settled = (): void => {
  document.documentElement.dataset['state'] = 'shown'
}

/** Computes something else of the variable, and reads it. */
function compute(changes: Partial<ViewState>): void {
  stop()
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
    change({ cell: [Math.floor(at / frame.columns) * frame.steps[0], (at % frame.columns) * frame.steps[1]] })
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
