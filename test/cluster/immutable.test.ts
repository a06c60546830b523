import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Footer } from '../../src/af/format/footer.ts'
import { readFooter6 } from '../../src/af/format/footer-v6.ts'
import { isIdentity } from '../../src/af/format/identity.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { type CopyPlan, type CopySettings, local, nodeCounts, openJob, planJob } from '../../src/runtime/cluster.ts'
import { type ArrayFile, create, open, writeImmutable } from '../../src/runtime/index.ts'
import { writeSteps } from '../interop/programs.ts'
import { programs } from '../interop/steps.ts'
import { runs } from '../support/budget.ts'
import { folderInMemory } from '../support/folder.ts'
import { inTurn, runNodes } from './support.ts'

let folder: string
beforeAll(async () => {
  folder = await folderInMemory('immutable-jobs')
})
afterAll(() => rmSync(folder, { recursive: true }))

let places = 0
const newPlace = (): string => {
  const own = join(folder, `${++places}`)
  mkdirSync(own)
  return own
}

/** Attributes of the file, unless an array has the name that they are stored under. */
const attributesOf = (file: ArrayFile): { title?: string } => (file.arrays().includes('__file__') ? {} : { title: 'copied' })

/** Plans a copy of all arrays of a container, with an attribute of the file where it can have one. */
async function planOf(location: string, target: string, options: CopySettings, taskBytes: number): Promise<CopyPlan> {
  await using file = await open(location)
  const arrays = Object.fromEntries(file.arrays().map((array) => [array, { location, array }]))
  const source = { arrays, groups: { '': attributesOf(file) } }
  return planJob({ method: 'copy', source, target, options: { ...options, immutable: true } }, { taskBytes })
}

/** Writes the same arrays in this process. */
async function writeAlone(location: string, target: string, options: CopySettings): Promise<void> {
  await using file = await open(location)
  const arrays = file.arrays().map((name) => [name, file.array(name)] as const)
  await writeImmutable(new Map(arrays), target, { ...options, attributes: attributesOf(file) })
}

function footerAt(path: string): Footer {
  const { payload, dataBytes } = splitFile(new Uint8Array(readFileSync(path)), 'ARRF')
  return readFooter6(payload, dataBytes, 64)
}

/** All that a footer says of its arrays, but for where their chunks are. */
const contentsOf = ({ arrays, attributeKeys, attributeValues }: Footer): unknown => [
  attributeKeys,
  attributeValues,
  arrays.map(({ chunks: { coords, sizes }, ...rest }) => ({ ...rest, chunks: [coords, sizes] })),
]

/** The blocks that hold chunks, and where each chunk is in them. */
const blocksOf = ({ blocks, arrays }: Footer): unknown => {
  const identity = blocks.findIndex(({ codec }) => codec !== null && isIdentity(codec))
  return [blocks.slice(0, identity), arrays.map(({ chunks }) => chunks)]
}

describe('a file of footer version 6 by tasks', () => {
  test('says of random arrays what one process writes, with the same statistics', async () => {
    await fc.assert(
      fc.asyncProperty(programs, fc.integer({ min: 1, max: 300 }), async (program, taskBytes) => {
        const own = newPlace()
        const location = join(own, 'source.af')
        const { codec, blockBytes } = program
        await using file = await create(location)
        await writeSteps(program, file)
        await file.flush()
        fc.pre(file.arrays().length > 0)
        const [alone, parts, whole] = ['alone.af', 'parts.af', 'whole.af'].map((name) => join(own, name)) as [
          string,
          string,
          string,
        ]
        const settings = { codec, blockBytes }
        await writeAlone(location, alone, settings)
        await runNodes(await planOf(location, parts, settings, taskBytes), inTurn)
        await local().run(await planOf(location, whole, settings, 2 ** 20))
        const expected = footerAt(alone)
        for (const path of [parts, whole]) {
          expect(contentsOf(footerAt(path))).toEqual(contentsOf(expected))
          await using copy = await open(path)
          expect((await copy.verify({ deep: true })).findings).toEqual([])
          for (const name of file.arrays()) {
            const rank = file.array(name).shape.map(() => null)
            expect(await copy.array(name).get(rank)).toEqual(await file.array(name).get(rank))
          }
        }
        // Blocks of tasks hold chunks of one array.
        if (file.arrays().length === 1) expect(blocksOf(footerAt(whole))).toEqual(blocksOf(expected))
        rmSync(own, { recursive: true })
      }),
      { numRuns: runs(60) },
    )
  })

  test('orders NaNs of many tasks by their payloads', async () => {
    const own = newPlace()
    const [location, target] = [join(own, 'source.af'), join(own, 'x.af')]
    await using file = await create(location)
    const put = async (name: string, dtype: 'float32' | 'float64', bits: readonly bigint[]): Promise<void> => {
      const Bits = dtype === 'float32' ? Uint32Array : BigUint64Array
      const values = (dtype === 'float32' ? bits.map(Number) : bits) as never
      const data = new (dtype === 'float32' ? Float32Array : Float64Array)(new Bits(values).buffer)
      const array = file.createArray(name, { dtype, shape: [bits.length], chunks: [1] })
      await array.set(null, { shape: [bits.length], data } as never)
    }
    await put('wide', 'float64', [
      0x7ff8000000000002n,
      0x3ff0000000000000n,
      0x7ff8000000000007n,
      0xfff8000000000001n,
      0xfff8000000000003n,
    ])
    await put('narrow', 'float32', [0x7fc00003n, 0x3f800000n, 0x7fc00001n])
    await put('zeros', 'float64', [0n, 0x8000000000000000n, 0n])
    await file.flush()
    const plan = await planOf(location, target, {}, 8)
    expect(nodeCounts(plan)[0]).toBeGreaterThanOrEqual(9)
    await runNodes(plan, inTurn)
    const stats = footerAt(target).arrays.flatMap(({ name, stats }) => (name === '__file__' ? [] : [stats!]))
    const bounds = stats.map(({ min, max }) => [min, max].map((bound) => (bound as { bits: bigint }).bits.toString(16)))
    expect(bounds).toEqual([
      ['fff8000000000003', '7ff8000000000007'],
      ['3ff0000000000000', '7ff8000060000000'],
      ['8000000000000000', '0'],
    ])
  })

  test.each(['x.1.af', 'x.stats'])('is not published where %s appears while tasks run', async (name) => {
    const own = newPlace()
    const [location, target] = [join(own, 'source.af'), join(own, 'x.af')]
    await using file = await create(location)
    await file.createArray('x', { dtype: 'int16', shape: [6], chunks: [2] }).set(null, [1, 2, 3, 4, 5, 6])
    await file.flush()
    const plan = await planOf(location, target, {}, 4)
    await using job = await openJob(plan)
    const parts = await Promise.all(Array.from({ length: nodeCounts(plan)[0]! }, (_, i) => job.runTask(i)))
    writeFileSync(join(own, name), 'theirs')
    await expect(job.merge(1, 0, parts)).rejects.toMatchObject({
      tag: 'AlreadyExistsError',
      message: expect.stringContaining(name),
      details: { file: target },
    })
    expect([existsSync(target), readFileSync(join(own, name), 'utf8')]).toEqual([false, 'theirs'])
    rmSync(join(own, name))
    await job.merge(1, 0, parts)
    expect(await (await open(target)).array('x').get()).toMatchObject({ data: Int16Array.of(1, 2, 3, 4, 5, 6) })
    await job.clean()
  })
})
