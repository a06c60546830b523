import * as fs from 'node:fs'
import { promises } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { create, FileStore, open, slice } from '../../src/runtime/index.ts'
import { runs } from '../support/budget.ts'

const [ROWS, COLUMNS, CHUNK_ROWS] = [24, 4096, 2]
const ROW_BYTES = COLUMNS * 8
const values = Float64Array.from({ length: ROWS * COLUMNS }, (_, i) => Math.sin(i))
let folder: string

beforeAll(async () => {
  folder = await promises.mkdtemp(join(tmpdir(), 'direct-'))
  for (const extensionBlocks of [true, false]) {
    // Blocks of three chunks, so that reads begin and end within blocks, too.
    const file = await create(place(extensionBlocks), { codec: 'none', extensionBlocks, blockBytes: 3 * CHUNK_ROWS * ROW_BYTES })
    const array = file.createArray('x', { dtype: 'float64', shape: [ROWS, COLUMNS], chunks: [CHUNK_ROWS, COLUMNS] })
    await array.set(null, values)
    await file.flush()
    await file.close()
  }
})

afterAll(() => promises.rm(folder, { recursive: true }))

const place = (extensionBlocks: boolean): string => join(folder, `${extensionBlocks}.af`)

/** A file system that records which buffers were read into. */
function recorded(): { store: FileStore; into: Set<ArrayBufferLike> } {
  const into = new Set<ArrayBufferLike>()
  const read = (file: number, bytes: Uint8Array, ...rest: [number, number, number, () => void]): void => {
    into.add(bytes.buffer)
    fs.read(file, bytes, ...rest)
  }
  return { store: new FileStore({ syncReads: false }, { ...fs, read }), into }
}

const rows = fc
  .tuple(fc.nat({ max: ROWS - 1 }), fc.nat({ max: ROWS - 1 }))
  .map(([a, b]): [number, number] => [Math.min(a, b), Math.max(a, b) + 1])

test('uncompressed chunks of a local file are read straight into the result where they have its order', async () => {
  let direct = 0
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.boolean(),
      fc.constantFrom(1, 1, 2, -1),
      fc.boolean(),
      async ([from, to], extensionBlocks, step, cut) => {
        const { store, into } = recorded()
        const file = await open({ store, path: place(extensionBlocks) })
        const columns = slice(Number(cut), COLUMNS)
        const selected = step === -1 ? slice(to - 1, from === 0 ? null : from - 1, -1) : slice(from, to, step)
        const { data, shape } = await file.array('x', 'float64').get([selected, columns])
        const first = step === -1 ? to - 1 : from
        const own = Array.from({ length: Math.ceil((to - from) / Math.abs(step)) }, (_, i) => first + i * step)
        expect(shape).toEqual([own.length, COLUMNS - Number(cut)])
        const width = COLUMNS - Number(cut)
        const expected = new Float64Array(own.length * width)
        own.forEach((row, i) => void expected.set(values.subarray(row * COLUMNS + Number(cut), (row + 1) * COLUMNS), i * width))
        // Comparing element by element takes seconds.
        expect(Buffer.compare(Buffer.from(data.buffer, data.byteOffset, data.byteLength), Buffer.from(expected.buffer))).toBe(0)
        const whole = from % CHUNK_ROWS === 0 && to % CHUNK_ROWS === 0 && step === 1 && !cut
        if (into.has(data.buffer)) direct++
        if (whole) expect(into.has(data.buffer)).toBe(true)
        if (step !== 1 || cut) expect(into.has(data.buffer)).toBe(false)
        await file.close()
      },
    ),
    { numRuns: runs(120) },
  )
  expect(direct).toBeGreaterThan(runs(120) / 10)
})

test('a damaged byte of an uncompressed block that is read straight into the result is found', async () => {
  const path = join(folder, 'damaged.af')
  const bytes = await promises.readFile(place(true))
  for (const [at, selection] of [
    [5 * ROW_BYTES + 3, null],
    [2 * ROW_BYTES + 1, [slice(2, 4)]],
  ] as const) {
    const damaged = Buffer.from(bytes)
    damaged[at]! ^= 1
    await promises.writeFile(path, damaged)
    const { store, into } = recorded()
    const file = await open({ store, path })
    const shape = [selection === null ? ROWS : 2, COLUMNS]
    const out = { data: new Float64Array(shape[0]! * COLUMNS), shape }
    await expect(file.array('x', 'float64').get(selection, { out })).rejects.toMatchObject({ tag: 'IntegrityError' })
    expect(into.has(out.data.buffer)).toBe(true)
    await file.close()
  }
})

test('an aborted read writes nothing into the memory of its caller afterwards', async () => {
  const { store } = recorded()
  const file = await open({ store, path: place(true) })
  for (let round = 0; round < runs(80); round++) {
    const controller = new AbortController()
    const data = new Float64Array(values.length)
    const out = { data, shape: [ROWS, COLUMNS] }
    const read = file.array('x', 'float64').get(null, { out, signal: controller.signal })
    setTimeout(() => controller.abort(), round % 4)
    const done = await read.then(
      () => true,
      () => false,
    )
    if (done) continue
    data.fill(7)
    await new Promise((resolve) => setTimeout(resolve, 3))
    expect(data.every((value) => value === 7)).toBe(true)
  }
  await file.close()
})
