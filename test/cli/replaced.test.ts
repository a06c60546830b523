import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { copyTree } from '../../src/copy/copy-tree.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { byBudget, timeLimit } from '../support/budget.ts'
import { folderInMemory } from '../support/folder.ts'

/** Number of processes that are killed. */
const KILLS = byBudget({ quick: 10, full: 50, soak: 1000 })
const RESIDENT = fileURLToPath(new URL('resident.mjs', import.meta.url))

/** A group whose every element is one number, in more chunks for one number than for the other. */
async function write(path: string, value: number): Promise<void> {
  const group = await createZarr(path, { attributes: { value } })
  for (const name of ['a', 'sub/b']) {
    const length = 10 * value
    const array = await group.createArray(name, { dtype: 'int32', shape: [length], chunks: [1], codec: 'none' })
    await array.set(null, new Int32Array(length).fill(value))
  }
}

/** The number that a store was made of; undefined for a place that is refused. */
async function valueIn(path: string): Promise<number | undefined> {
  const group = await openZarr(path, { kind: 'group' }).catch((error: { tag: string; message: string }) => {
    expect([error.tag, error.message]).toEqual(['ConflictError', expect.stringContaining('run the same command once more')])
  })
  if (group === undefined) return undefined
  const value = group.attrs.get('value') as number
  for (const name of ['a', 'sub/b']) {
    const { data } = (await (await group.array(name)).get()) as { data: Int32Array }
    expect([...data]).toEqual(new Array(10 * value).fill(value))
  }
  return value
}

test('a killed command that replaces a store leaves the old one, the new one, or a place that can be completed', {
  timeout: timeLimit(600_000),
}, async () => {
  const folder = await folderInMemory('replaced')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const out = `${folder}/out.zarr`
  await write(`${folder}/1.zarr`, 1)
  await write(`${folder}/2.zarr`, 2)
  await copyTree(`${folder}/1.zarr`, out)
  const files = async (path: string) => (await readdir(path, { recursive: true })).filter((name) => !name.endsWith('.tmp')).sort()
  let now = 1
  for (let left = KILLS; left > 0; left--) {
    const child = fork(RESIDENT, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const ended = once(child, 'exit')
    const replace = (): void => {
      child.send({ folder, args: ['cp', `${3 - now}.zarr`, 'out.zarr', '--overwrite'], env: {} })
    }
    const answers = once(child, 'message')
    const started = performance.now()
    replace()
    await answers
    const usual = performance.now() - started
    now = 3 - now
    child.on('message', ({ exitCode }: { exitCode: number }) => {
      expect(exitCode).toBe(0)
      now = 3 - now
      replace()
    })
    replace()
    await new Promise((resolve) => setTimeout(resolve, usual * Math.random()))
    child.kill('SIGKILL')
    await ended
    expect([now, 3 - now, undefined]).toContain(await valueIn(out))
    await copyTree(`${folder}/${3 - now}.zarr`, out, { overwrite: true })
    now = 3 - now
    expect(await valueIn(out)).toBe(now)
    expect(await files(out)).toEqual(await files(`${folder}/${now}.zarr`))
  }
})
