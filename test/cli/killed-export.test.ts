import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { tensorOf } from '../../src/core/tensor.ts'
import { Dataset, openDataset } from '../../src/runtime/dataset.ts'
import { byBudget, timeLimit } from '../support/budget.ts'
import { folderInMemory } from '../support/folder.ts'

/** Number of processes that are killed. */
const KILLS = byBudget({ quick: 6, full: 20, soak: 500 })
const RESIDENT = fileURLToPath(new URL('resident.mjs', import.meta.url))
const SHAPE = [40, 100, 100]
const SIZE = 400_000

/** A store whose elements are all one number. */
const writeStore = (path: string, value: number): Promise<unknown> =>
  new Dataset({
    t: { dims: ['time', 'y', 'x'], data: tensorOf('int16', SHAPE, new Int16Array(SIZE).fill(value)) },
    u: { dims: ['time'], data: new Int16Array(SHAPE[0]!).fill(value) },
  }).write(path)

/** The number that a file was made of; undefined if there is none. */
async function valueIn(path: string): Promise<number | undefined> {
  if (!existsSync(path)) return undefined
  await using ds = await openDataset(path)
  const values = [...((await ds.get('t').values()) as Int16Array), ...((await ds.get('u').values()) as Int16Array)]
  expect(values.length).toBe(SIZE + SHAPE[0]!)
  expect(new Set(values).size).toBe(1)
  return values[0]
}

test('a killed command that writes NetCDF leaves the whole file, the old one, or none', {
  timeout: timeLimit(300_000),
}, async () => {
  const folder = await folderInMemory('killed-export')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const value of [1, 2]) await writeStore(`${folder}/${value}.zarr`, value)
  const out = `${folder}/out.nc`
  const seen = new Set<number | undefined>()
  for (let left = KILLS; left > 0; left--) {
    // Each second file is new.
    if (left % 2 === 0) await rm(out, { force: true })
    const before = await valueIn(out)
    const next = before === 1 ? 2 : 1
    const child = fork(RESIDENT, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const ended = once(child, 'exit')
    const run = (name: string): void => {
      child.send({ folder, args: ['export', `${next}.zarr`, name, '--overwrite', '--unlimited', 'time'], env: {} })
    }
    const answer = once(child, 'message')
    run('other.nc')
    await answer
    const again = once(child, 'message')
    const started = performance.now()
    run('other.nc')
    expect(((await again)[0] as { exitCode: number }).exitCode).toBe(0)
    const usual = performance.now() - started
    run('out.nc')
    await new Promise((resolve) => setTimeout(resolve, 1.2 * usual * Math.random()))
    child.kill('SIGKILL')
    await ended
    const found = await valueIn(out)
    expect([before, next]).toContain(found)
    seen.add(found)
  }
  expect(seen.size).toBeGreaterThan(1)
})
