// The page: what the user does changes the state, and the state is what is drawn and what the address says.
import type { DataArray, Dataset } from 'hyperslab/dataset'
import { type Axis, type Chosen, chooseAxes, readAxis, slowDimension } from './axes.ts'
import { loadCoastlines } from './coastlines.ts'
import { tableOf } from './colours.ts'
import { byId, element, showError } from './dom.ts'
import { EXAMPLES } from './examples.ts'
import { type Frame, FrameCache, readFrame, toFloats } from './frame.ts'
import { extentOf, knownExtent, type Limits, percentilesOf, suitingColours, symmetric } from './limits.ts'
import { drawLine } from './lines.ts'
import { MapView, type Scene } from './map-view.ts'
import { droppedSource, openSource, type Source } from './opening.ts'
import { derivationOf, derive, javascriptOf } from './picture.ts'
import { Profiles } from './profiles.ts'
import { save } from './save.ts'
import { disableSlider, makeSliders, setSlider, showPlaying } from './sliders.ts'
import { queryOf, START, stateOf, type ViewState } from './state.ts'
import { describe, isNumeric, longNameOf, plural, show, showBytes, summarize, unitsOf } from './words.ts'

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
    byId('arrays').replaceChildren(...arrays.map(arrayButton), ...[...opened.problems].map(problemItem))
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

function arrayButton(array: DataArray): HTMLElement {
  const title = element('strong', { textContent: array.name })
  const units = unitsOf(array)
  const name = longNameOf(array)
  const meaning = [name === array.name ? '' : name, units === '' ? '' : `[${units}]`].join(' ').trim()
  const texts = [meaning, summarize(array), `chunks ${(array.encoding['chunks'] as number[] | undefined)?.join(' × ') || '1'}`]
  const lines = texts.filter((text) => text !== '').map((textContent) => element('span', { textContent }))
  const button = element('button', { type: 'button' }, title, ...lines)
  button.dataset['name'] = array.name
  button.onclick = () => pick(array, { ...START, url: state.url })
  return element('li', {}, button)
}

/** An array that could not be opened, with the reason in its place. */
function problemItem([name, { message }]: readonly [string, Error]): HTMLElement {
  return element(
    'li',
    { className: 'problem' },
    element('strong', { textContent: name }),
    element('span', { textContent: message }),
  )
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
  for (const button of byId('arrays').querySelectorAll('button'))
    button.ariaPressed = String(button.dataset['name'] === array.name)
  const texts = describe(array).flatMap(([name, text]) => [
    element('dt', { textContent: name }),
    element('dd', { textContent: text }),
  ])
  byId('details').replaceChildren(...texts)
  byId('title').textContent = longNameOf(array)
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
    showControls(others)
    await read()
  } catch (error) {
    if (!signal.aborted) showError('view-error', error)
  }
}

/** Has the controls show the state, and hides those that have no use for the variable. */
function showControls(others: readonly Axis[]): void {
  const isPlane = chosen.y !== ''
  for (const id of ['figure', 'settings', 'compute', 'readout']) byId(id).hidden = !isPlane
  byId('line').hidden = isPlane
  byId('text').hidden = true
  byId<HTMLButtonElement>('png').hidden = !isPlane
  const means = others.filter(({ length }) => length > 1).map(({ dim }) => element('option', { value: dim, textContent: dim }))
  byId('mean').replaceChildren(element('option', { value: '', textContent: 'nothing' }), ...means)
  byId('compute').hidden = !isPlane || means.length === 0
  for (const id of ['colours', 'limits', 'projection', 'mean'] as const) byId<HTMLSelectElement>(id).value = state[id]
  for (const id of ['keep', 'symmetric', 'log'] as const) byId<HTMLInputElement>(id).checked = state[id]
  for (const id of ['low', 'high'] as const) byId<HTMLInputElement>(id).value = state[id] === undefined ? '' : String(state[id])
  disableSlider(state.mean)
  showOwnLimits()
}

function showOwnLimits(): void {
  for (const label of document.querySelectorAll<HTMLElement>('.own')) label.hidden = state.limits !== 'own'
  byId('subtract').hidden = slow() === undefined || state.mean !== ''
  byId('subtract-none').hidden = state.minus === undefined
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
  const isMap = axes.get(chosen.y)!.kind === 'latitude' && axes.get(chosen.x)!.kind === 'longitude'
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
      const { kind, places, label } = axes.get(dim)!
      // What has no coordinate names its dimension, and degrees need no name.
      const isNamed = places === undefined || kind === 'latitude' || kind === 'longitude'
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
    drawLine(byId('line'), { axis, values, name: longNameOf(array), units: unitsOf(array) }, byId('view').clientWidth, 320)
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
  change(changes)
  showOwnLimits()
  if (map.frame !== undefined) void known.then((extent) => drawMap(map.frame!, extent)).then(settled)
}

const settled = (): void => {
  document.documentElement.dataset['state'] = 'shown'
}

function bindControls(): void {
  for (const id of ['colours', 'projection'] as const)
    byId<HTMLSelectElement>(id).onchange = ({ target }) =>
      redraw({ [id]: (target as HTMLSelectElement).value, ...(id === 'projection' && WHOLE) })
  byId<HTMLSelectElement>('limits').onchange = ({ target }) => {
    kept = undefined
    redraw({ limits: (target as HTMLSelectElement).value as ViewState['limits'] })
  }
  for (const id of ['keep', 'symmetric', 'log'] as const)
    byId<HTMLInputElement>(id).onchange = ({ target }) => redraw({ [id]: (target as HTMLInputElement).checked })
  for (const id of ['low', 'high'] as const)
    byId<HTMLInputElement>(id).onchange = ({ target }) => {
      const value = (target as HTMLInputElement).valueAsNumber
      redraw({ [id]: Number.isNaN(value) ? undefined : value })
    }
  byId<HTMLSelectElement>('mean').onchange = ({ target }) => {
    stop()
    change({ mean: (target as HTMLSelectElement).value, minus: undefined })
    disableSlider(state.mean)
    showOwnLimits()
    void read()
  }
  byId('abort').onclick = () => {
    reading.abort()
    byId('progress').hidden = true
    byId<HTMLSelectElement>('mean').value = ''
    byId('mean').dispatchEvent(new Event('change'))
  }
  byId('subtract').onclick = () => subtract(state.at[slow()!] ?? 0)
  byId('subtract-none').onclick = () => subtract(undefined)
  byId<HTMLDetailsElement>('code').ontoggle = () => void showCode()
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]'))
    button.onclick = () => copy(byId<HTMLTextAreaElement>(button.dataset['copy']!).value, 'The code is copied.')
  byId('copy-link').onclick = () =>
    copy(location.href, state.url === '' ? 'Copied; a file of this machine is not in a link.' : 'The link is copied.')
  byId('png').onclick = () => {
    const canvas = map.export(longNameOf(variable!), whereText())
    canvas.toBlob((blob) => blob && save(blob, `${state.variable}.png`), 'image/png')
  }
}

/** What is seen of another projection lies elsewhere. */
const WHOLE = { x: undefined, y: undefined, zoom: 1 }

function subtract(minus: number | undefined): void {
  stop()
  change({ minus })
  showOwnLimits()
  void read()
}

async function copy(text: string, said: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    byId('announce').textContent = said
    byId('readout').textContent = said
  } catch {
    showError('view-error', 'The browser does not let this page copy; mark the text and copy it yourself.')
  }
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
}

function bindPicture(): void {
  const surface = byId('canvas')
  let pending = 0
  let [left, top] = [0, 0]
  /** Where a drag began, or was last. */
  let drag: { x: number; y: number; id: number; moved: boolean } | undefined
  const point = (): void => {
    pending = 0
    const at = map.cellAt(left, top)
    if (at !== cell) readOut(at)
  }
  surface.onpointermove = (event) => {
    if (drag?.id === event.pointerId && state.zoom > 1) {
      const [byX, byY] = [event.clientX - drag.x, event.clientY - drag.y]
      if (drag.moved || Math.hypot(byX, byY) > 4) {
        drag = { x: event.clientX, y: event.clientY, id: drag.id, moved: true }
        redraw(map.moved(byX, byY, state.zoom))
        return
      }
    }
    left = event.offsetX
    top = event.offsetY
    if (pending === 0) pending = requestAnimationFrame(point)
  }
  surface.onpointerdown = (event) => {
    drag = { x: event.clientX, y: event.clientY, id: event.pointerId, moved: false }
    if (state.zoom > 1) surface.setPointerCapture(event.pointerId)
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
      if (map.frame === undefined || !(event.ctrlKey || event.metaKey || state.zoom > 1 || event.shiftKey)) return
      event.preventDefault()
      redraw(map.moved(0, 0, state.zoom * Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY))
    },
    { passive: false },
  )
  surface.ondblclick = (event) => redraw(map.moved(0, 0, state.zoom * 2, event.offsetX, event.offsetY))
  byId('zoom-in').onclick = () => zoomBy(2)
  byId('zoom-out').onclick = () => zoomBy(0.5)
  surface.onkeydown = (event) => {
    const frame = map.frame
    if (frame === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    const by = MOVES[event.key]
    if (by !== undefined) {
      event.preventDefault()
      if (event.shiftKey) redraw(map.moved(-by[1] * 60, -by[0] * 60, state.zoom))
      else readOut(step(frame, by), true)
    } else if (event.key === '+') zoomBy(2)
    else if (event.key === '-') zoomBy(0.5)
    else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      choose(cell)
    } else if (event.key === 'Escape') choose(-1)
  }
}

function zoomBy(times: number): void {
  if (map.frame !== undefined) redraw(map.moved(0, 0, state.zoom * times))
}

/** The cell beside the one that is read out, as it is seen; around the globe from its edge. */
function step({ rows, columns, values }: Frame, [down, right]: readonly [number, number]): number {
  if (values.length === 0) return -1
  if (cell < 0) return (rows >> 1) * columns + (columns >> 1)
  const [rowsTurned, columnsTurned] = map.turned
  const row = Math.floor(cell / columns) + (rowsTurned ? -down : down)
  const column = (cell % columns) + (columnsTurned ? -right : right)
  return Math.min(rows - 1, Math.max(0, row)) * columns + ((column + columns) % columns)
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

function bindTheme(): void {
  const button = byId<HTMLButtonElement>('theme')
  const wished = matchMedia('(prefers-color-scheme: dark)')
  let own: boolean | undefined
  const apply = (): void => {
    const isDark = own ?? wished.matches
    document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
    button.ariaPressed = String(isDark)
    map.redraw()
  }
  button.onclick = () => {
    own = !(own ?? wished.matches)
    apply()
  }
  wished.addEventListener('change', apply)
  apply()
}

function bindOpening(): void {
  const url = byId<HTMLInputElement>('url')
  byId<HTMLFormElement>('remote').onsubmit = (event) => {
    event.preventDefault()
    void open(url.value.trim(), { ...START })
  }
  byId<HTMLInputElement>('file').onchange = ({ target }) => {
    const files = [...((target as HTMLInputElement).files ?? [])]
    if (files.length > 0) void open(files, { ...START })
  }
  document.ondragover = (event) => event.preventDefault()
  document.ondrop = async (event) => {
    event.preventDefault()
    const source = event.dataTransfer && (await droppedSource(event.dataTransfer))
    if (source) void open(source, { ...START })
  }
  const items = EXAMPLES.map(({ file, title, text, query }) => {
    const button = element(
      'button',
      { type: 'button' },
      element('strong', { textContent: title }),
      element('span', { textContent: text }),
    )
    button.onclick = () => {
      url.value = new URL(`examples/${file}`, location.href).href
      void open(url.value, stateOf(query))
    }
    button.dataset['example'] = file
    return element('li', {}, button)
  })
  byId('examples').replaceChildren(...items)
}

let width = 0
new ResizeObserver(([entry]) => {
  const now = entry!.contentRect.width
  if (now === width || now === 0) return
  width = now
  map.redraw()
  map.mark(cell)
}).observe(byId('figure'))

bindOpening()
bindControls()
bindPicture()
bindTheme()
const asked = stateOf(location.search)
if (asked.url !== '') {
  byId<HTMLInputElement>('url').value = asked.url
  void open(asked.url, asked)
}
