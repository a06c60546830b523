import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { byBudget, timeLimit } from '../support/budget.ts'
import { folderInMemory } from '../support/folder.ts'

const PROGRAM = fileURLToPath(new URL('append-process.mjs', import.meta.url))
/** Number of processes that are killed. */
const KILLS = byBudget({ quick: 2, full: 6, soak: 200 })

test('killed processes that append to one array neither lose an acknowledged row nor store it twice', {
  timeout: timeLimit(600_000),
}, async () => {
  const folder = await folderInMemory('appending')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const place = `${folder}/x.zarr`
  // Rows of two share their last chunk with the next ones.
  await (await createZarr(place)).createArray('a', { dtype: 'int32', shape: [0], chunks: [3], fillValue: -1 })
  const begun = new Set<number>()
  const done = new Set<number>()
  let processes = 0
  const start = () => {
    const child = fork(PROGRAM, [`${place}/a`, String(processes++)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    child.on('message', (told: { begun?: number; done?: number }) => {
      if (told.begun !== undefined) begun.add(told.begun)
      if (told.done !== undefined) done.add(told.done)
    })
    return child
  }
  const children = [start(), start(), start()]
  onTestFinished(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  const until = async (count: number): Promise<void> => {
    for (const wanted = done.size + count; done.size < wanted; ) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  for (let kill = 0; kill < KILLS; kill++) {
    await until(5)
    const i = Math.floor(Math.random() * children.length)
    const ended = once(children[i]!, 'exit')
    children[i]!.kill('SIGKILL')
    await ended
    children[i] = start()
  }
  await until(5)
  for (const child of children) {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const array = await openZarr(`${place}/a`, { kind: 'array' })
  const { data } = (await array.get()) as { data: Int32Array }
  const stored: number[] = []
  for (let row = 0; row < data.length; row += 2) {
    // A row is stored whole.
    expect(data[row + 1]).toBe(data[row])
    stored.push(data[row]!)
  }
  expect(new Set(stored).size).toBe(stored.length)
  for (const value of stored) expect(begun).toContain(value)
  expect([...done].filter((value) => !stored.includes(value))).toEqual([])
})
