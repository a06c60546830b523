// Reductions and copies in kernel memory, against numpy, plain JavaScript and the speed of the memory itself;
// projection against zarrita's.
import { pathToFileURL } from 'node:url'
import { internals } from '../internals.mjs'
import { MiB, random, report, sized } from '../measure.mjs'
import { loadPeer, peerFolder } from '../peers.mjs'
import { startPython } from '../python.mjs'
import { print, sideBySide } from '../side-by-side.mjs'
import { streams } from '../stream.mjs'

const ours = await internals(
  'core/dtype',
  'kernels/arena',
  'kernels/instance',
  'kernels/reduce',
  'kernels/copy',
  'grid/projection',
  'grid/chunks',
  'kernels/boxes',
  'aggregate/reduce-boxes',
)
const arena = new ours.Arena(ours.kernels())
const python = await startPython(['numpy==2.4.6'])

/** Creates the same work in Python, as a way of `sideBySide`. */
async function inPython(make, args) {
  if (python === undefined) return {}
  const name = `${make} ${JSON.stringify(args)}`
  await python.ask({ make, name, args })
  return { numpy: { timed: async (count) => (await python.ask({ run: name, count })).ms } }
}

const DTYPES = Object.fromEntries(ours.NUMERIC_DTYPES.map((dtype) => [dtype, ours.allocate(dtype, 0).constructor]))

/** Allocates memory for the whole suite, with values like those of peers.py. */
function valuesOf(dtype, length) {
  const Type = DTYPES[dtype]
  const pointer = arena.alloc(length * Type.BYTES_PER_ELEMENT)
  const next = random(1)
  const value = dtype.startsWith('float') ? (i) => 280 + 15 * Math.sin(i / 977) + next() : () => Math.floor(next() * 100)
  const view = new Type(arena.kernels.memory.buffer, pointer, length)
  for (let i = 0; i < length; i++) view[i] = Type.name.startsWith('Big') ? BigInt(value(i)) : value(i)
  return pointer
}

const REDUCTION_GOALS = {
  sum: 1.5,
  min: 1,
  'position of the minimum': 1,
  'min, max and count': 4,
  'sum skipping a fill value': 6,
  'sum of squares about a shift': 1,
}

/** Approximate mean of the values, as in peers.py. */
const SHIFT = 50.25

function reductionsOf(dtype, length, pointer) {
  const fill = arena.view(dtype, pointer + (length >> 1) * DTYPES[dtype].BYTES_PER_ELEMENT, 1)[0]
  const run = (op, skip) => () =>
    arena.scratch(() => {
      const cells = ours.accumulators(arena, op, dtype, 1)
      ours.reduceElements(arena, op, dtype, skip, [length], pointer, [1], cells, [0], ours.counters(arena, 1))
    })
  const whole = { op: 'min', dtype, skip: 'none', reduced: [true], places: [1] }
  const table = ours.createBoxTable(1, [{ offset: 0, place: 0, shape: [length], stride: [1] }])
  const position = () => arena.scratch(() => ours.reduceBoxes(arena, whole, table, pointer, [1]))
  return {
    sum: run('sum', 'none'),
    min: run('min', 'none'),
    'position of the minimum': position,
    'min, max and count': () => ours.chunkStats(arena, dtype, pointer, length, fill),
    'sum skipping a fill value': run('sum', { fill }),
    'sum of squares about a shift': () =>
      arena.scratch(() => {
        const [cell, shift] = [ours.counters(arena, 1), ours.counters(arena, 1)]
        arena.view('float64', shift, 1)[0] = SHIFT
        ours.reduceElements(arena, 'squares', dtype, 'none', [length], pointer, [1], cell, [0], shift)
      }),
  }
}

async function reductions() {
  for (const dtype of Object.keys(DTYPES)) {
    const mark = arena.kernels.arenaMark()
    const length = MiB / DTYPES[dtype].BYTES_PER_ELEMENT
    const pointer = valuesOf(dtype, length)
    for (const [op, work] of Object.entries(reductionsOf(dtype, length, pointer))) {
      const compared = await sideBySide({ ours: work, ...(await inPython('reduction', { op, dtype, length })) })
      print('kernels', `${op}, ${dtype}, 1 MiB`, MiB, compared, { numpy: REDUCTION_GOALS[op] })
    }
    arena.kernels.arenaReset(mark)
  }
}

/** Measures kernels on data that exceed every cache, as a share of the machine's memory speed. */
async function fromMemory() {
  const bytes = sized(64, 4) * MiB
  for (const dtype of ['uint8', 'int32', 'float32', 'float64']) {
    const mark = arena.kernels.arenaMark()
    const length = bytes / DTYPES[dtype].BYTES_PER_ELEMENT
    const pointer = valuesOf(dtype, length)
    const { read } = await streams(arena.kernels.memory)
    for (const [op, work] of Object.entries(reductionsOf(dtype, length, pointer))) {
      if (op === 'sum of squares about a shift') continue // arithmetic, not memory, is what it waits for
      const compared = await sideBySide({ ours: work, 'reading alone': () => read(pointer, bytes) }, { rounds: 9 })
      print('kernels', `${op}, ${dtype}, ${bytes / MiB} MiB`, bytes, compared, { 'reading alone': 0.85 })
    }
    arena.kernels.arenaReset(mark)
  }
}

/**
 * Describes a copy: `source` and `target` have the shape of the memory, `[start, stop, step]` of each axis,
 * and the order of the axes.
 */
const box = (shape, memory, slices) => ({ shape, source: [memory, slices, shape.map((_, i) => i)], target: [shape, shape.map(() => [null, null, null]), shape.map((_, i) => i)] }) // biome-ignore format: one line
const all = [null, null, null]
const COPIES = {
  'rows of 1 KiB': { ...box([32, 128, 256], [64, 256, 512], [[16, 48, 1], [64, 192, 1], [128, 384, 1]]), goals: { numpy: 1.5, 'plain JavaScript': 8 } }, // biome-ignore format: one line
  'rows of 32 B': { ...box([32, 256, 8], [64, 256, 256], [[16, 48, 1], all, [100, 108, 1]]), goals: { numpy: 1.5, 'plain JavaScript': 8 } }, // biome-ignore format: one line
  'inner stride 2': { ...box([256, 512], [256, 1024], [all, [0, 1024, 2]]), goals: { numpy: 1.5 } },
  'inner stride 3': { ...box([256, 341], [256, 1024], [all, [0, 1023, 3]]), goals: { numpy: 1.5 } },
  'inner stride -1': { ...box([256, 1024], [256, 1024], [all, [null, null, -1]]), goals: { numpy: 1.5 } },
  'inner stride 5': { ...box([256, 205], [256, 1024], [all, [0, 1024, 5]]), goals: { numpy: 1 } },
  transposed: { shape: [512, 512], source: [[512, 512], [all, all], [1, 0]], target: [[512, 512], [all, all], [0, 1]], goals: { numpy: 2 } }, // biome-ignore format: one line
  'scattered by 2': { shape: [256, 512], source: [[256, 512], [all, all], [0, 1]], target: [[256, 1024], [all, [0, 1024, 2]], [0, 1]], goals: { numpy: 1 } }, // biome-ignore format: one line
}

/** Returns start and strides, in elements, of slices of memory. */
function layoutOf([memory, slices, order]) {
  const steps = memory.map((_, axis) => memory.slice(axis + 1).reduce((a, b) => a * b, 1))
  let offset = 0
  const stride = slices.map(([start, , step], axis) => {
    offset += (start ?? ((step ?? 1) < 0 ? memory[axis] - 1 : 0)) * steps[axis]
    return (step ?? 1) * steps[axis]
  })
  return { offset, stride: order.map((axis) => stride[axis]) }
}

/** A copy in straightforward JavaScript. */
function plainCopy(from, to, shape, a, b) {
  const last = shape.length - 1
  const index = new Array(last).fill(0)
  for (;;) {
    let at = a.offset
    let out = b.offset
    for (let axis = 0; axis < last; axis++) {
      at += index[axis] * a.stride[axis]
      out += index[axis] * b.stride[axis]
    }
    for (let i = 0; i < shape[last]; i++) to[out + i * b.stride[last]] = from[at + i * a.stride[last]]
    let axis = last - 1
    while (axis >= 0 && ++index[axis] === shape[axis]) index[axis--] = 0
    if (axis < 0) return
  }
}

async function copies() {
  const sizeOf = (shape) => shape.reduce((a, b) => a * b)
  for (const [name, { shape, source, target, goals }] of Object.entries(COPIES))
    for (const dtype of ['uint8', 'int16', 'float32', 'float64']) {
      const width = DTYPES[dtype].BYTES_PER_ELEMENT
      if (name === 'rows of 32 B' && dtype !== 'float32') continue
      const mark = arena.kernels.arenaMark()
      const from = valuesOf(dtype, sizeOf(source[0]))
      const to = valuesOf(dtype, sizeOf(target[0]))
      const [a, b] = [layoutOf(source), layoutOf(target)]
      const [input, output] = [
        DTYPES[dtype].from(arena.view(dtype, from, sizeOf(source[0]))),
        new DTYPES[dtype](sizeOf(target[0])),
      ]
      // Compiled separately for this type.
      const plain = new Function(`return ${plainCopy}`)()
      const ways = {
        ours: () => ours.copyStrided(arena, width, shape, from + a.offset * width, a.stride, to + b.offset * width, b.stride),
        ...(await inPython('copy', { dtype, shape, source, target })),
        'plain JavaScript': () => plain(input, output, shape, a, b),
      }
      const compared = await sideBySide(ways)
      ways.ours()
      ways['plain JavaScript']()
      const written = arena.view(dtype, to, sizeOf(target[0]))
      const unlike = output.findIndex((value, i) => value !== written[i] && value !== output.at(-1) && name !== 'scattered by 2')
      if (unlike >= 0) throw new Error(`${name}, ${dtype}: element ${unlike} is ${written[unlike]}, not ${output[unlike]}`)
      const bytes = sizeOf(shape) * width
      print('kernels', `copy ${name}, ${dtype}`, bytes, compared, dtype.startsWith('float') ? goals : {})
      arena.kernels.arenaReset(mark)
    }
}

async function projection() {
  const folder = (await loadPeer('zarrita')) && peerFolder('zarrita')
  if (folder === undefined) return
  const path = `${folder}/node_modules/zarrita/dist/src/indexing/indexer.js`
  const { BasicIndexer } = await import(pathToFileURL(path).href)
  for (const chunks of [64, 4096]) {
    const side = Math.sqrt(chunks)
    const shape = [side * 100, side * 100]
    const grid = ours.ChunkGrid.regular(shape, [100, 100])
    const range = [3, side * 100 - 5]
    const selection = shape.map(() => ({ start: range[0], stop: range[1], step: 1 }))
    const visit = { ours: 0, zarrita: 0 }
    const ways = {
      ours: () => ours.projectBox(selection, grid, () => visit.ours++),
      zarrita: () => {
        for (const _ of new BasicIndexer({ selection, shape, chunkShape: [100, 100] })) visit.zarrita++
      },
    }
    const compared = await sideBySide(ways)
    const nanoseconds = (compared.ms.ours * 1e6) / chunks
    console.log(
      `a box on ${chunks} chunks: ${nanoseconds.toFixed(0)} ns a chunk, zarrita ${((compared.ms.zarrita * 1e6) / chunks).toFixed(0)}`,
    )
    const { ratio } = compared.ratios.zarrita
    report({ suite: 'kernels', name: `projection on ${chunks} chunks`, peer: 'zarrita', ratio, goal: '>= 10', met: ratio >= 10 })
  }
}

await reductions()
await fromMemory()
await copies()
await projection()
python?.close()
