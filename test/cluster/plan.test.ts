import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { hashJson } from '../../src/cluster/plan-parts.ts'
import { local, nodeCounts, openJob, planJob, type ReduceOperation, readPlan } from '../../src/runtime/cluster.ts'
import { coarsen, create, linear, open, points, slice } from '../../src/runtime/index.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { runs } from '../support/budget.ts'
import { folderInMemory } from '../support/folder.ts'
import { bitsOf, runByNodes } from './support.ts'

let folder: string
let mean: ReduceOperation
const data = Float64Array.from({ length: 60 }, (_, i) => i)
beforeAll(async () => {
  folder = await folderInMemory('plan')
  const location = join(folder, 'x.af')
  const file = await create(location)
  await file.createArray('x', { dtype: 'float64', shape: [20, 3], chunks: [1, 3], dimensionNames: ['t', 'y'] }).set(null, data)
  await file.flush()
  await file.close()
  mean = { method: 'mean', source: { location, array: 'x' } }
})
afterAll(() => rmSync(folder, { recursive: true }))

type Loose = Record<string, unknown>

/** The parts of a value, and the parts of these, by their paths. */
const partsOf = (value: unknown, above = ''): [path: string, part: unknown][] =>
  Object.entries((Object(value) === value ? value : {}) as Loose)
    .filter(([name]) => !name.includes('.'))
    .flatMap(([name, part]) => [[above + name, part], ...partsOf(part, `${above}${name}.`)])

const tiny = { unitBytes: 1, taskBytes: 1 }

describe('a plan', () => {
  test('is JSON with an id that follows from the rest', async () => {
    const plan = await planJob(mean, tiny)
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan)
    expect(plan).toMatchObject({ version: 1, array: { dtype: 'float64', shape: [20, 3], chunks: 20, bytes: 480 } })
    expect([plan.units.count, plan.tasks, nodeCounts(plan)]).toEqual([20, { level: 0, count: 20 }, [20, 1]])
    expect((await planJob(mean, tiny)).id).toBe(plan.id)
    expect((await planJob({ ...mean, method: 'sum' }, tiny)).id).not.toBe(plan.id)
  })

  test('of another version, or one that was changed, is refused', async () => {
    const plan = await planJob(mean)
    await expect(readPlan({ ...plan, version: 2 })).rejects.toMatchObject({ tag: 'UnsupportedError', details: { actual: 2 } })
    await expect(openJob({ ...plan, operation: { ...mean, method: 'sum' } })).rejects.toMatchObject({ tag: 'FormatError' })
    for (const other of [undefined, 'plan', {}]) await expect(readPlan(other)).rejects.toMatchObject({ tag: 'FormatError' })
  })

  test('holds no code, and no secret, and nothing that is misspelt', async () => {
    const refused = { tag: 'InvalidArgumentError' }
    const where = () => true
    for (const operation of [
      { ...mean, method: 'count', options: { where } },
      { ...mean, method: 'cumsum' },
      { ...mean, axis: 0 },
      { ...mean, options: { axes: 0 } },
      { ...mean, source: { ...mean.source, colour: 'red' } },
      { ...mean, source: { location: 'https://anna:secret@example.com/x.af', array: 'x' } },
      { ...mean, source: { location: 'https://example.com/x.af?X-Amz-Signature=0123', array: 'x' } },
      { ...mean, source: { concat: [] } },
      ...[
        {},
        { select: [0], transpose: [1, 0] },
        { select: { t: { strat: 1 } } },
        { select: [{ step: 'a' }] },
        { select: [[0, true]] },
        { select: [[['a']]] },
        { select: [{ points: [[0, 0.5]] }] },
        { select: [{ points: [[0, 0]], start: 1 }] },
        { select: [{ points: null }] },
        { linear: null },
        { linear: { points: [[0, 0]] } },
        { linear: { strat: 0 } },
        { linear: [0], select: [0] },
        { coarsen: { t: 0 }, kind: 'mean' },
        { coarsen: { t: 2 } },
        { coarsen: { t: 2 }, kind: 'mean', options: { skipNan: true } },
        { select: [0], kind: 'mean' },
        { transpose: 't' },
      ].map((view) => ({ ...mean, source: { ...mean.source, views: [view] } })),
    ])
      await expect(planJob(operation as never)).rejects.toMatchObject(refused)
    const location = 'https://anna:secret@example.com/x.af'
    const error: Error = await planJob({ ...mean, source: { location, array: 'x' } }).catch((reason) => reason)
    expect(error.message).not.toContain('secret')
  })

  test('is refused before anything is opened when a part of it is wrong, though its hash is right', async () => {
    const views = [{ select: { t: { start: 2, stop: null }, y: [2, 0] } }, { transpose: ['y', 't'] }]
    const { location } = mean.source as { location: string }
    const options = { axis: 0, skipNaN: true }
    const operation = { method: 'sum', source: { concat: [{ location, array: 'x', views }], axis: 0 }, options }
    const { id: _, ...facts } = await planJob(operation as never, { ...tiny, scratch: join(folder, 'nowhere') })
    facts.operation = JSON.parse(JSON.stringify(facts.operation).replaceAll(location, join(folder, 'nowhere', 'x.af')))
    const valid = { ...facts, id: await hashJson(facts) }
    expect(await readPlan(valid)).toEqual(valid)
    /** Returns the tag of the error for a plan in which one value is changed or removed. */
    const refusal = async (path: string, value: unknown): Promise<string> => {
      const plan = structuredClone(facts) as Loose
      const names = path.split('.')
      ;(names.slice(0, -1).reduce((each, name) => each[name] as Loose, plan) as Loose)[names.at(-1)!] = value
      const given = JSON.parse(JSON.stringify({ ...plan, id: await hashJson(plan) }))
      return openJob(given).then(
        () => 'opened',
        (error) => error.tag,
      )
    }
    const refused = /^(FormatError|InvalidArgumentError|UnsupportedError)$/
    const parts = partsOf(facts)
    // Whatever a part is, it is neither of these.
    const wrong = [[[['junk']]], { junk: [[['junk']]] }]
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...parts), fc.constantFrom(...wrong), async ([path], value) => {
        expect(await refusal(path, value), path).toMatch(refused)
      }),
      { numRuns: runs(150) },
    )
    // Names of files and of dimensions may be any.
    for (const [path, part] of parts)
      if (typeof part === 'object' && part !== null && !Array.isArray(part) && !/(pins|select)$/.test(path))
        expect(await refusal(`${path}.junk`, 1), path).toMatch(refused)
    for (const path of ['operation', 'operation.source', 'pins', 'array', 'units', 'tasks', 'array.shape', 'tasks.level'])
      expect(await refusal(path, undefined), path).toMatch(refused)
    for (const [path, value] of [
      ['operation.method', 'cumsum'],
      ['operation.options.skipNaN', 1],
      ['operation.args', [0.5]],
      ['operation.source.concat.0.location', 'https://key:secret@host/x.af'],
      ['scratch', 'https://host/x?token=1'],
      ['tasks.count', 19],
    ] as const)
      expect(await refusal(path, value), path).toMatch(refused)
  })

  test('of reductions that need all elements at once is refused', async () => {
    const held = { ...mean, method: 'quantile', args: [0.5], options: { axis: 0, maxBytes: 100 } } as const
    await expect(planJob(held)).rejects.toMatchObject({ tag: 'TooLargeError', details: { actual: 480, expected: 100 } })
    await expect(planJob({ ...mean, method: 'histogram' })).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })
})

describe('a recipe', () => {
  const sum = (rows: readonly number[], columns: readonly number[]): number =>
    rows.flatMap((t) => columns.map((y) => data[3 * t + y]!)).reduce((a, b) => a + b)

  test('selects, permutes and joins', async () => {
    const { source } = mean
    const views = [{ select: { t: { start: 2, stop: null, step: 3 }, y: [2, 0] } }, { transpose: ['y', 't'] }]
    const plan = await planJob({ method: 'sum', source: { ...source, views } as never, options: { axis: 't' } }, tiny)
    const rows = [2, 5, 8, 11, 14, 17]
    expect(await local().run(plan)).toMatchObject({ data: Float64Array.of(sum(rows, [2]), sum(rows, [0])) })
    const joined = { concat: [source, { ...source, views: [{ select: [{ stop: 4 }] }] }], axis: 't' }
    const both = await planJob({ method: 'sum', source: joined as never, options: { axis: 'y' } }, tiny)
    expect(both.array.shape).toEqual([24, 3])
    const { data: sums } = (await runByNodes(both)) as { data: Float64Array }
    const first = [...Array(20).keys()].map((t) => sum([t], [0, 1, 2]))
    expect([...sums]).toEqual([...first, ...first.slice(0, 4)])
  })

  /** Recipes of views by points, masks and positions in C order, each with the selection of an array. */
  const byPoints = fc.oneof(
    fc.array(fc.tuple(fc.integer({ min: -20, max: 19 }), fc.integer({ min: -3, max: 2 })), { maxLength: 30 }).map((list) => ({
      view: { select: [{ points: list, axes: 2 }] },
      selection: [points(list as never, 2)],
    })),
    fc.array(fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), { minLength: 20, maxLength: 20 }).map((mask) => ({
      view: { select: [mask] },
      selection: [mask],
    })),
    fc.array(fc.tuple(fc.nat(19), fc.nat(19)), { minLength: 1, maxLength: 8 }).map((pairs) => ({
      view: { select: ['...', pairs, { step: -1 }] },
      selection: ['...', pairs, slice(null, null, -1)],
    })),
    fc.array(fc.integer({ min: -60, max: 59 }), { minLength: 1, maxLength: 30 }).map((list) => ({
      view: { linear: list },
      selection: linear(list),
    })),
    fc.tuple(fc.nat(59), fc.integer({ min: 1, max: 9 })).map(([start, step]) => ({
      view: { linear: { start, step } },
      selection: linear(slice(start, null, step)),
    })),
  )

  test('selects points, masks, nested lists and positions in C order, and jobs yield the bits of the view', async () => {
    const { location } = mean.source as { location: string }
    await using file = await open(location)
    let count = 0
    await fc.assert(
      fc.asyncProperty(byPoints, fc.constantFrom('sum', 'count', 'describe'), async ({ view, selection }, method) => {
        const source = { ...mean.source, views: [view] } as never
        const expected = file.array('x', 'float64').view(selection as never)
        const plan = await planJob({ method, source } as never, tiny)
        expect(plan.array.shape).toEqual(expected.shape)
        expect(await readPlan(JSON.parse(JSON.stringify(plan)))).toEqual(plan)
        expect(await runByNodes(plan)).toEqual(await expected[method as 'sum']())
        if (expected.size === 0) return
        const target = join(folder, `points-${count++}.zarr`)
        await local().run(await planJob({ method: 'copy', source: { arrays: { '': source } }, target }, { taskBytes: 64 }))
        expect((await (await openZarr(target, { kind: 'array' })).get()).data).toEqual((await expected.get()).data)
      }),
      { numRuns: runs(60) },
    )
  })

  test('coarsens, and groups, as the array itself does', async () => {
    const { location } = mean.source as { location: string }
    await using file = await open(location)
    const array = file.array('x', 'float64')
    for (const kind of ['mean', 'variance', 'count', 'countNonzero'] as const) {
      const source = { ...mean.source, views: [{ coarsen: { t: 3, y: 2 }, kind }] } as never
      const coarse = coarsen(array, { t: 3, y: 2 }, kind)
      const plan = await planJob({ method: 'sum', source, options: { axis: 't' } }, tiny)
      expect(plan.array.shape).toEqual([7, 2])
      expect(bitsOf(await runByNodes(plan))).toBe(bitsOf(await coarse.sum({ axis: 't' })))
      const target = join(folder, `coarse-${kind}.zarr`)
      const chunks = { t: 2, y: 1 }
      await local().run(await planJob({ method: 'copy', source: { arrays: { '': source } }, target, options: { chunks } }))
      expect((await (await openZarr(target, { kind: 'array' })).get()).data).toEqual((await coarse.get()).data)
      const labels = Array.from({ length: 20 }, (_, t) => 'abc'[t % 3]!)
      const groups = await planJob({ method: 'groupBy', source: mean.source, args: ['t', labels, kind] }, tiny)
      expect(groups.tasks.count).toBe(20)
      expect(bitsOf(await runByNodes(groups))).toBe(bitsOf(await array.groupBy('t', labels, kind)))
    }
    for (const args of [[], ['t', ['a'], 'average'], ['t', [{}], 'mean']])
      await expect(planJob({ method: 'groupBy', source: mean.source, args } as never)).rejects.toMatchObject({
        tag: 'InvalidArgumentError',
      })
  })

  test('names a variable of a dataset', async () => {
    const { location } = mean.source as { location: string }
    const plan = await planJob({ method: 'max', source: { dataset: location, variable: 'x' } })
    expect(await local().run(plan)).toBe(59)
  })

  test('opens once what several of its arrays lie in, and closes it once', async () => {
    const opened = vi.spyOn(ArrayFile, 'open')
    const closed = vi.spyOn(ArrayFile.prototype, 'close')
    onTestFinished(() => void vi.restoreAllMocks())
    const { location } = mean.source as { location: string }
    const stored = { location, array: 'x' }
    const nested = { concat: [stored, { ...stored, views: [{ select: [{ start: 5 }] }] }] }
    const plan = await planJob({ method: 'sum', source: { concat: [stored, nested, ...new Array(30).fill(stored)] } })
    expect([opened, closed].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
    expect(await local().run(plan)).toBe(33 * 1770 - 105)
    expect([opened, closed].map(({ mock }) => mock.calls.length)).toEqual([2, 2])
    const variable = { dataset: location, variable: 'x' }
    const operation = { method: 'sum', source: { concat: [variable, variable, { ...variable, decode: false }] } } as const
    expect(await local().run(await planJob(operation))).toBe(3 * 1770)
    // With and without decoding, when it is planned and when it is done.
    expect([opened, closed].map(({ mock }) => mock.calls.length)).toEqual([6, 6])
    const target = join(folder, 'once.zarr')
    await local().run(await planJob({ method: 'copy', source: { arrays: { a: stored, 'b/c': stored } }, target }))
    expect([opened, closed].map(({ mock }) => mock.calls.length)).toEqual([8, 8])
    const missing = { method: 'sum', source: { concat: [stored, { location, array: 'y' }] } } as const
    await expect(planJob(missing)).rejects.toMatchObject({ tag: 'UnknownArrayError', details: { array: 'y' } })
    expect([opened, closed].map(({ mock }) => mock.calls.length)).toEqual([9, 9])
  })
})

describe('a job', () => {
  test('refuses a source that has changed since it was planned, and does nothing', async () => {
    const location = join(folder, 'changing.af')
    copyFileSync((mean.source as { location: string }).location, location)
    const plan = await planJob({ ...mean, source: { location, array: 'x' } })
    utimesSync(location, 1, 1)
    await expect(local().run(plan)).rejects.toMatchObject({ tag: 'ConflictError', details: { file: location } })
  })

  test('leaves what is large in the scratch folder, once, and cleans up', async () => {
    const scratch = join(folder, 'scratch')
    const location = join(folder, 'wide.af')
    const wide = Float64Array.from({ length: 4000 }, (_, i) => i / 7)
    const file = await create(location)
    await file.createArray('x', { dtype: 'float64', shape: [2, 2000], chunks: [1, 2000] }).set(null, wide)
    await file.flush()
    await file.close()
    const plan = await planJob({ method: 'mean', source: { location, array: 'x' }, options: { axis: 0 } }, { ...tiny, scratch })
    const job = await openJob(plan)
    const parts = await Promise.all([job.runTask(0), job.runTask(1), job.runTask(1)])
    expect(parts[2]).toEqual(parts[1])
    expect(parts.every((part) => 'key' in part && part.bytes > 30_000)).toBe(true)
    const all = await job.merge(1, 0, parts.slice(0, 2))
    expect(readdirSync(join(scratch, plan.id)).sort()).toEqual(['0-0', '0-1', '1-0'])
    const { data: means } = (await job.result(all)) as { data: Float64Array }
    expect([...means]).toEqual(Array.from({ length: 2000 }, (_, i) => (wide[i]! + wide[2000 + i]!) / 2))
    await job.clean()
    expect(readdirSync(scratch)).toEqual([])
    await job.close()
  })

  test('keeps a large partial result of who was first, whoever else writes it at the same time', async () => {
    const scratch = join(folder, 'first')
    const location = join(folder, 'tall.af')
    const file = await create(location)
    const x = file.createArray('x', { dtype: 'float64', shape: [16, 2000], chunks: [1, 2000] })
    await x.set(
      null,
      Float64Array.from({ length: 32_000 }, (_, i) => i / 7),
    )
    await file.flush()
    await file.close()
    const plan = await planJob({ method: 'mean', source: { location, array: 'x' }, options: { axis: 0 } }, { ...tiny, scratch })
    await using one = await openJob(plan)
    await using other = await openJob(plan)
    for (let i = 0; i < 16; i++) {
      const written = (): number => statSync(join(scratch, plan.id, `0-${i}`)).ino
      const both = [one, other].map((job) => job.runTask(i))
      const first = await Promise.race(both.map((run) => run.then(written)))
      const [a, b] = await Promise.all(both)
      expect(a).toEqual(b)
      expect(written()).toBe(first)
    }
  })

  test('hands around what is small, and takes what somebody has left for done', async () => {
    const scratch = join(folder, 'shared')
    const plan = await planJob({ ...mean, options: { axis: 'y' } }, { ...tiny, scratch })
    await using job = await openJob(plan)
    expect(await job.runTask(0)).toEqual({ state: expect.any(String) })
    expect(readdirSync(folder)).not.toContain('shared')
    mkdirSync(join(scratch, plan.id), { recursive: true })
    writeFileSync(join(scratch, plan.id, '1-0'), 'known')
    writeFileSync(join(scratch, plan.id, '0-3'), 'known')
    expect(await job.runTask(3)).toEqual({ key: expect.stringMatching(/0-3$/), bytes: 5 })
    const children = new Array(20).fill({ key: 'gone', bytes: 1 })
    expect(await job.merge(1, 0, children)).toEqual({ key: expect.stringMatching(/1-0$/), bytes: 5 })
    rmSync(join(scratch, plan.id, '1-0'))
    await expect(job.merge(1, 0, children)).rejects.toMatchObject({ tag: 'NotFoundError' })
  })

  test('refuses nodes that there are not, and children that are not theirs', async () => {
    const job = await openJob(await planJob(mean, tiny))
    const refused = { tag: 'InvalidArgumentError' }
    for (const index of [-1, 20, 0.5]) await expect(job.runTask(index)).rejects.toMatchObject(refused)
    await expect(job.merge(1, 0, [])).rejects.toMatchObject({ ...refused, details: { actual: 0, expected: 20 } })
    await expect(job.merge(2, 0, [])).rejects.toMatchObject(refused)
    await expect(job.result({ state: btoa('something else') })).rejects.toMatchObject({ tag: 'FormatError' })
    await expect(job.result(await job.runTask(0))).rejects.toThrow('is not the last one')
    await job.close()
  })

  test('counts what is done, and ends when it is aborted', async () => {
    const plan = await planJob(mean, tiny)
    const seen: number[] = []
    const controller = new AbortController()
    expect(await local().run(plan, { onProgress: ({ done, total, bytes }) => seen.push(done / total - bytes / 480) })).toBe(29.5)
    expect(seen).toEqual(new Array(20).fill(0))
    const aborted = local().run(plan, { signal: controller.signal, onProgress: () => controller.abort(new Error('enough')) })
    await expect(aborted).rejects.toThrow('enough')
  })
})
