import { HttpStore, slice } from 'hyperslab'
import { openDataset } from 'hyperslab/dataset'
import { describeArray, elementOf, isNumeric, readCoordinates, show, showBytes, summarize } from './describe.mjs'
import { cellAt, drawPlane, drawRamp, extentOf } from './heatmap.mjs'

/** Rows and columns that are drawn at most; of larger planes every n-th is read. */
const MOST = 800
const KEYS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }

const $ = (id) => document.getElementById(id)
const requests = { count: 0, bytes: 0 }
/** Ends what is being opened, and what is being read, when something else is wanted. */
let opening = new AbortController()
let reading = new AbortController()
/** The dataset, the array with the coordinates of its axes, the plane of it that is drawn, and the cell that is read out. */
let dataset
let array
let coordinates
let plane
let cell

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

/** A URL goes through a store that tells of its requests; its query is sent for what lies beside it, too. */
function locate(source) {
  if (source instanceof File) return source
  const { origin, pathname, search } = new URL(source, location.href)
  const onRequest = ({ bytes, attempts }) => {
    requests.count += attempts
    requests.bytes += bytes
    showCost()
  }
  return { store: new HttpStore({ onRequest, query: search.slice(1) }), path: origin + pathname }
}

async function openSource(source) {
  opening.abort()
  reading.abort()
  opening = new AbortController()
  const { signal } = opening
  showError()
  Object.assign(requests, { count: 0, bytes: 0 })
  try {
    const opened = await openDataset(locate(source), { signal })
    if (signal.aborted) return await opened.close()
    await dataset?.close()
    dataset = opened
    const arrays = Object.values({ ...dataset.coords, ...dataset.variables })
    $('arrays').replaceChildren(...arrays.map(arrayButton))
    $('contents').hidden = false
    const [largest] = [...arrays].sort((a, b) => b.array.size - a.array.size)
    if (largest !== undefined) await pick(largest)
  } catch (error) {
    if (!signal.aborted) showError(error)
  }
}

function arrayButton(each) {
  const button = element('button', { type: 'button', onclick: () => pick(each) }, each.name, element('span', {}, summarize(each)))
  button.dataset.name = each.name
  return element('li', {}, button)
}

/** Shows another array, from the first position along its leading axes. */
async function pick(chosen) {
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  array = chosen
  for (const button of $('arrays').querySelectorAll('button')) button.ariaPressed = String(button.dataset.name === array.name)
  const details = describeArray(array).flatMap(([name, text]) => [element('dt', {}, name), element('dd', {}, text)])
  $('details').replaceChildren(...details)
  $('sliders').replaceChildren()
  try {
    const found = await Promise.all(chosen.dims.map((dim) => readCoordinates(dataset, dim)))
    if (signal.aborted) return
    coordinates = found
    $('sliders').replaceChildren(...array.shape.slice(0, -2).map(slider))
    await read()
  } catch (error) {
    if (!signal.aborted) showError(error)
  }
}

function slider(length, axis) {
  const { name, at } = coordinates[axis]
  const output = element('output', {}, at(0))
  const input = element('input', { type: 'range', name, min: 0, max: length - 1, value: 0 })
  input.oninput = () => {
    output.value = at(input.valueAsNumber)
    input.ariaValueText = output.value
    read()
  }
  return element('label', {}, name, input, output)
}

/** Reads and draws the last two axes at the positions of the sliders; whatever is still being read is given up. */
async function read() {
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  const chosen = array
  const leading = Array.from($('sliders').querySelectorAll('input'), (input) => input.valueAsNumber)
  const steps = chosen.shape.slice(-2).map((length) => Math.ceil(length / MOST))
  $('canvas').ariaBusy = 'true'
  showError()
  try {
    const result = await chosen.array.get([...leading, ...steps.map((step) => slice(null, null, step))], { signal })
    if (signal.aborted) return
    plane = planeOf(result, [1, 1, ...steps].slice(-2))
    $('title').textContent = `${chosen.name}[${[...leading, ...steps.map((step) => (step > 1 ? `::${step}` : ':'))].join(', ')}]`
    draw()
    $('canvas').ariaBusy = 'false'
  } catch (error) {
    if (!signal.aborted) showError(error)
  }
  showCost()
}

/** Rows and columns of a result of at most two axes, with NaN for what is not there. */
function planeOf(result, steps) {
  const { data, shape } =
    typeof result === 'object' && result !== null && 'data' in result ? result : { data: [result], shape: [] }
  const numbers = Float64Array.from(data, (value) =>
    isNumeric(array) ? Number(elementOf(array, value) ?? Number.NaN) : Number.NaN,
  )
  return { data, values: numbers, steps, shape: [1, 1, ...shape].slice(-2), upward: coordinates.at(-2)?.upward === true }
}

function draw() {
  const extent = extentOf(plane.values)
  drawPlane($('canvas'), plane, extent)
  const units = array.attrs.units ?? ''
  const shown = (value) => show(array.dtype === 'timestamp_ns' ? new Date(value) : value)
  const ends =
    extent.min > extent.max ? ['nothing to draw', ''] : [extent.min, extent.max].map((value) => `${shown(value)} ${units}`.trim())
  ;[$('low').value, $('high').value] = ends
  $('canvas').ariaLabel = `${$('title').textContent}, ${ends.join(' to ')}`
  const [rows, columns] = plane.shape
  if (cell !== undefined && cell.row < rows && cell.column < columns) readOut(cell)
}

/** Says which value is in a cell, and where that is. */
function readOut({ row, column }) {
  cell = { row, column }
  const [rows, columns] = plane.shape
  if (rows * columns === 0) return
  const i = row * columns + column
  const value = Number.isNaN(plane.values[i]) && isNumeric(array) ? 'no value' : show(elementOf(array, plane.data[i]))
  const indices = [row * plane.steps[0], column * plane.steps[1]].slice(-Math.min(2, array.shape.length) || 2)
  const places = coordinates.slice(-2).map(({ name, at }, k) => `${name} ${at(indices[k])}`)
  const units = value === 'no value' ? '' : (array.attrs.units ?? '')
  $('readout').value = [`${value} ${units}`.trim(), ...places].join(' · ')
}

function moveCell(event) {
  const by = KEYS[event.key]
  if (by === undefined || plane === undefined) return
  event.preventDefault()
  const { row, column } = cell ?? { row: 0, column: 0 }
  const within = (position, length) => Math.min(length - 1, Math.max(0, position))
  readOut({ row: within(row + (plane.upward ? -by[0] : by[0]), plane.shape[0]), column: within(column + by[1], plane.shape[1]) })
}

function showCost() {
  $('cost').value = requests.count > 0 ? `Read so far: ${requests.count} requests, ${showBytes(requests.bytes)}` : ''
}

function showError(error) {
  $('error').hidden = error === undefined
  $('error').textContent = error === undefined ? '' : `${error.name}: ${error.message}`
}

function openAddress(address) {
  $('url').value = address
  openSource(address)
}

drawRamp($('ramp'))
$('remote').onsubmit = (event) => {
  event.preventDefault()
  openAddress($('url').value)
}
$('file').onchange = ({ target }) => target.files[0] && openSource(target.files[0])
$('canvas').onpointermove = (event) => plane && readOut(cellAt($('canvas'), plane, event))
$('canvas').onkeydown = moveCell
document.ondragover = (event) => event.preventDefault()
document.ondrop = (event) => {
  event.preventDefault()
  const [dropped] = event.dataTransfer.files
  if (dropped !== undefined) openSource(dropped)
}
const asked = new URLSearchParams(location.search).get('url')
if (asked !== null) openAddress(new URL(asked, location.href).href)
