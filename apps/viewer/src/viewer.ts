// The page. Actions of the user change the state, and the state determines the picture and the address.
import type { DataArray, Dataset } from 'hyperslab/dataset'
import { bindControls, showControls } from './controls.ts'
import { byId, showError } from './dom.ts'
import type { Frame } from './frame.ts'
import { FrameReader } from './frame-reader.ts'
import type { Group, Hierarchy } from './hierarchy.ts'
import type { Limits } from './limits.ts'
import { showValues } from './line-view.ts'
import { MapView } from './map-view.ts'
import { openSource, type Source } from './opening.ts'
import { javascriptOf } from './picture.ts'
import { cellOf, finestOf, positionsOf } from './plane.ts'
import { Player } from './playing.ts'
import { bindPointer } from './pointer.ts'
import { Profiles } from './profiles.ts'
import { Progress } from './progress.ts'
import { detailText, gapsText, placeText, valueText, whereText } from './readout.ts'
import { save } from './save.ts'
import { KeptLimits, scaleOf } from './scale.ts'
import { makeSliders, setSlider } from './sliders.ts'
import { bindOpening } from './start.ts'
import { queryOf, START, type ViewState } from './state.ts'
import { Subject } from './subject.ts'
import { bindTheme } from './theme.ts'
import { listGroups, listVariables, rankArrays, showVariable } from './variables.ts'
import { isNumeric, longNameOf, plural, showBytes, unitsOf } from './words.ts'

/** Time in ms without changes before the visible part is read at a better level. */
const REST = 150
const FIRST = 'first picture'

let state: ViewState = { ...START }
let hierarchy: Hierarchy | undefined
let group: Group | undefined
/** Arrays of the group, at its coarsest level, which has the smallest coordinates. */
let dataset: Dataset | undefined
/** Name of local files, which links cannot open. */
let localName = ''
let subject: Subject | undefined
/** Number of the cell in the frame whose value is shown, or -1. */
let cell = -1
let opening = new AbortController()
let reading = new AbortController()
let resting: ReturnType<typeof setTimeout> | undefined
const cost = { requests: 0, bytes: 0 }
const map = new MapView()
const profiles = new Profiles()
const progress = new Progress()
const frames = new FrameReader(progress, () => byId('figure').clientWidth * devicePixelRatio)
const kept = new KeptLimits()
const player = new Player({
  next: (dim) => ((state.at[dim] ?? 0) + 1) % subject!.axes.get(dim)!.length,
  ahead: (dim, position) => frames.read(subject!, { ...state, at: { ...state.at, [dim]: position } }, reading.signal),
  move,
})

function change(changes: Partial<ViewState>): void {
  state = { ...state, ...changes }
  history.replaceState(null, '', location.pathname + queryOf(state))
  document.documentElement.dataset['state'] = 'changed'
}

const settled = (): void => {
  document.documentElement.dataset['state'] = 'shown'
  // Tools of the browser show the time of this mark.
  if (performance.getEntriesByName(FIRST).length === 0) performance.mark(FIRST)
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
      progress.answered(more)
      showCost()
    }
    const opened = await openSource(source, count, {
      signal,
      ...(wanted.names !== '' && { names: wanted.names.split(',') }),
      level: wanted.level,
    })
    if (signal.aborted) return await opened.close()
    await hierarchy?.close()
    hierarchy = opened
    localName = typeof source === 'string' ? '' : 'kind' in source ? source.name : (source[0]?.name ?? '')
    state = { ...wanted, url: typeof source === 'string' ? source : '' }
    await openGroup(wanted.group, wanted, signal)
    const paths = await opened.paths()
    if (!signal.aborted) listGroups(paths, state.group, (path) => void changeGroup(path))
  } catch (error) {
    if (!signal.aborted) showError('open-error', error)
  }
}

async function changeGroup(path: string): Promise<void> {
  player.stop()
  const { signal } = opening
  showError('group-error')
  try {
    await openGroup(path, { ...START, names: state.names, level: state.level }, signal)
  } catch (error) {
    if (!signal.aborted) showError('group-error', error)
  }
}

/** Opens a group, and shows the requested variable or else the largest one with data. */
async function openGroup(path: string, wanted: ViewState, signal: AbortSignal): Promise<void> {
  const found = await hierarchy!.group(path)
  const opened = await found.dataset(found.levels - 1)
  const ranked = rankArrays(opened)
  const arrays = ranked.map(({ array }) => array)
  if (arrays.length === 0 && path === '') {
    const [first = ''] = await hierarchy!.paths()
    if (first !== '') return openGroup(first, wanted, signal)
  }
  if (signal.aborted) return
  group = found
  dataset = opened
  frames.forget()
  profiles.forget()
  const place = { url: state.url, names: state.names, level: state.level, group: path }
  listVariables(ranked, opened.decodeErrors, found.levels, (array) => void pick(array, { ...START, ...place }))
  byId('start').hidden = true
  byId('contents').hidden = false
  const numeric = ranked.filter(({ array }) => isNumeric(array))
  const largest = numeric.sort((a, b) => a.rank - b.rank || b.array.array.size - a.array.array.size)[0]?.array
  const shown = arrays.find(({ name }) => name === wanted.variable) ?? largest ?? arrays[0]
  if (shown === undefined) throw new Error('there are no arrays in it')
  const isWanted = shown.name === wanted.variable || wanted.variable === ''
  await pick(shown, { ...(isWanted ? wanted : START), ...place })
}

async function pick(array: DataArray, wanted: ViewState): Promise<void> {
  player.stop()
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  subject = undefined
  kept.forget()
  cell = -1
  profiles.close()
  map.clear()
  showVariable(array)
  change({ ...wanted, variable: array.name })
  showError('view-error')
  showError('compute-error')
  try {
    const found = await Subject.read(group!, dataset!, array)
    await Promise.all([found.learnGroups(state), found.known])
    if (signal.aborted) return
    hierarchy!.settle()
    subject = found
    await check(state).catch((error: unknown) => {
      showError('compute-error', error)
      change({ less: '' })
    })
    if (signal.aborted) return
    arrange()
    await read()
  } catch (error) {
    if (!signal.aborted) showError('view-error', error)
  }
}

/** Creates the sliders and updates the controls. */
function arrange(): void {
  const axes = subject!.dims(state).map((dim) => subject!.axes.get(dim)!)
  makeSliders(axes, state.at, {
    moved: (dim, position) => {
      if (player.dim !== dim) player.stop()
      void move(dim, position)
    },
    played: (dim) => (player.dim === dim ? player.stop() : void player.play(dim)),
  })
  updateControls()
}

function updateControls(): void {
  const { isPlane, array, times, axes } = subject!
  const others = Object.values(dataset!.variables).filter(({ name }) => name !== array.name)
  showControls(state, {
    isPlane,
    means: subject!.dims(state).filter((dim) => axes.get(dim)!.length > 1),
    others: others.filter((each) => each.dims.length >= 2 && isNumeric(each)).map(({ name }) => name),
    hasTimes: times !== undefined,
    canSubtract: subject!.slow(state) !== undefined,
  })
}

function move(dim: string, position: number): Promise<void> {
  change({ at: { ...state.at, [dim]: position } })
  setSlider(subject!.axes.get(dim)!, position)
  return read()
}

/** Reads and draws the picture of the state. An earlier read is aborted. */
async function read(): Promise<void> {
  if (subject === undefined) return
  clearTimeout(resting)
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  showError('view-error')
  byId('canvas').ariaBusy = 'true'
  try {
    if (subject.isPlane) await readMap(subject, signal)
    else await showValues(subject.array, subject.axes, signal)
    if (signal.aborted) return
    void showCode()
    byId('canvas').ariaBusy = 'false'
    settled()
  } catch (error) {
    if (!signal.aborted) {
      map.clear()
      byId('canvas').ariaBusy = 'false'
      showError('view-error', error)
      player.stop()
    }
  }
  if (!signal.aborted) progress.end()
}

async function readMap(shown: Subject, signal: AbortSignal): Promise<void> {
  const { isMap, known } = shown
  // A picture without coastlines is better than none.
  const loading = shown.loadCoasts().catch((error: unknown) => {
    if (!signal.aborted) showError('view-error', error)
  })
  const frame = await frames.read(shown, state, signal)
  const extent = await known
  // Two-dimensional coordinates may be large. Their pictures are drawn first without coastlines.
  if (isMap) await loading
  if (signal.aborted) return
  for (const each of document.querySelectorAll<HTMLElement>('.of-maps')) each.hidden = !isMap
  drawMap(frame, extent)
  if (shown.coasts !== undefined) return
  await loading
  if (shown.coasts !== undefined && !signal.aborted) drawMap(frame, extent)
}

function drawMap(frame: Frame, extent: Limits | undefined): void {
  const { array } = subject!
  const { scale, problem } = scaleOf(array, state, kept.of(frame, state, extent) ?? { low: 0, high: 1 })
  showError('limits-error', problem)
  const units = unitsOf(array)
  const less =
    state.less !== '' ? ` less ${longNameOf(dataset!.get(state.less))}` : state.minus === undefined ? '' : ', difference'
  const caption = `${longNameOf(array)}${less}${units === '' ? '' : ` [${units}]`}`
  const isDifference = state.minus !== undefined || state.less !== ''
  const before = map.frame
  map.draw({
    frame,
    scale,
    caption,
    coasts: subject!.coasts,
    state: { projection: state.projection, x: state.x, y: state.y, zoom: state.zoom },
    valueText: (value) => valueText(array, value, { withUnits: false, isDifference }),
  })
  const ends = [scale.low, scale.high].map((end) => valueText(array, end, { isDifference })).join(' to ')
  const where = [whereText(subject!, state), detailText(frame, subject!)].filter((text) => text !== '').join(', ')
  byId('subtitle').textContent = where
  byId('canvas').ariaLabel = `${caption}, ${where || 'the whole'}, colours from ${ends}${gapsText(frame)}`
  // The cell keeps its place in the new frame.
  if (before !== undefined && before !== frame && cell >= 0) cell = cellOf(frame, finestOf(before, cell))
  if (state.cell !== undefined && cell < 0) cell = cellOf(frame, state.cell)
  readOut(cell)
  if (state.cell !== undefined) showProfiles(frame)
}

/** Shows the value and the position of a cell. */
function readOut(at: number, speak = false): void {
  const { frame } = map
  cell = at
  map.mark(at)
  if (frame === undefined) return
  const text = at < 0 ? 'Point at the picture, or move over it with the arrow keys; click for profiles.' : cellText(frame, at)
  byId('readout').textContent = text
  if (speak) byId('announce').textContent = text
}

function cellText(frame: Frame, at: number): string {
  const value = frame.values[at]!
  const isDifference = state.minus !== undefined || state.less !== ''
  return `${Number.isNaN(value) ? 'no value' : valueText(subject!.array, value, { isDifference })} · ${placeText(frame, at)}`
}

/** Shows the profiles through the chosen cell, if it is in memory. */
function showProfiles(frame: Frame): void {
  const at = cellOf(frame, state.cell!)
  if (at >= 0) void profiles.show({ frame, at, place: placeText(frame, at), ...namesOf(subject!.array), ...seriesAt(frame, at) })
}

const namesOf = (array: DataArray): { name: string; units: string } => ({ name: longNameOf(array), units: unitsOf(array) })

/** Returns the series of a cell along the slow dimension; none if a mean is computed along it. */
function seriesAt(frame: Frame, at: number): Pick<Parameters<Profiles['show']>[0], 'of' | 'series'> {
  const { y, x, level } = frame.plane
  const shown = subject!
  const dim = shown.slow(state)
  const derivation = shown.derivation(state)
  const { [dim ?? '']: _, ...rest } = derivation.at
  const [row, column] = positionsOf(frame, at)
  const of = JSON.stringify([state.variable, state.by, rest, level, row, column])
  if (dim === undefined || state.mean === dim) return { of, series: undefined }
  const plain = { ...derivation, at: rest, mean: undefined, minus: undefined, less: undefined }
  const open = (isComputed: boolean): Promise<DataArray> =>
    frames.derive(shown, isComputed ? plain : { ...plain, by: undefined }, { [y.dim]: row, [x.dim]: column }, level)
  return { of, series: { axis: shown.axes.get(dim)!, open } }
}

function showCost(): void {
  byId<HTMLOutputElement>('cost').value =
    cost.requests > 0 ? `Read so far: ${plural(cost.requests, 'request')}, ${showBytes(cost.bytes)}` : ''
}

/** Shows the picture as code, if the code is visible. */
async function showCode(): Promise<void> {
  if (!byId<HTMLDetailsElement>('code').open || subject === undefined) return
  const of = subject.derivation(state)
  const level = frames.levelOf(subject, state)
  const place = state.url === '' ? localName : new URL(state.url, location.href).href
  byId<HTMLTextAreaElement>('javascript').value = javascriptOf(
    place,
    group!.optionsOf(level),
    of,
    (name) => dataset!.get(name).dims,
  )
  byId<HTMLTextAreaElement>('python').value = await frames
    .derive(subject, of, {}, level)
    .then((array) => array.toPython())
    .catch((error: unknown) => `# ${error instanceof Error ? error.message : String(error)}`)
}

/** Draws data in memory again. If another level or region suits better, it is read after a short rest. */
function redraw(changes: Partial<ViewState>): void {
  if (changes.limits !== undefined) kept.forget()
  change(changes)
  updateControls()
  if (map.frame === undefined) return
  void subject!.known.then((extent) => {
    const { frame } = map
    if (frame === undefined) return
    drawMap(frame, extent)
    clearTimeout(resting)
    if (frames.isBest(frame, subject!, state)) settled()
    else resting = setTimeout(() => void read(), REST)
  })
}

/** Computes another array from the variable, and reads it. */
async function compute(changes: Partial<ViewState>): Promise<void> {
  player.stop()
  showError('compute-error')
  try {
    await subject!.learnGroups({ ...state, ...changes })
    await check({ ...state, ...changes })
    change(changes)
  } catch (error) {
    showError('compute-error', error)
  }
  arrange()
  await read()
}

/**
 * Checks before any read that the variables can be subtracted.
 * @throws Error for a missing dimension or different units
 */
async function check(wanted: ViewState): Promise<void> {
  if (wanted.less !== '') {
    const other = dataset!.get(wanted.less)
    const dim = other.dims.find((each) => !subject!.array.dims.includes(each))
    if (dim !== undefined) throw new Error(`${wanted.less} has the dimension ${dim}, and ${wanted.variable} has not`)
    const [units, others] = [subject!.array, other].map(unitsOf)
    if (units !== others && units !== '' && others !== '')
      throw new Error(`${wanted.variable} is in ${units} and ${wanted.less} in ${others}: their difference means nothing`)
  }
  await frames.derive(subject!, subject!.derivation(wanted), {}, group!.levels - 1)
}

/** Shows the profiles through a cell; -1 closes them. */
function choose(at: number): void {
  const { frame } = map
  if (frame === undefined) return
  if (at < 0) {
    change({ cell: undefined })
    profiles.close()
  } else {
    change({ cell: finestOf(frame, at) })
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
  compute: (changes) => void compute(changes),
  subtract: () => void compute({ minus: state.at[subject!.slow(state)!] ?? 0, less: '' }),
  showCode: () => void showCode(),
  savePicture() {
    const canvas = map.export(longNameOf(subject!.array), whereText(subject!, state))
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
