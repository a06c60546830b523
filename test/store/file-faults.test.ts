import { execFileSync, spawnSync } from 'node:child_process'
import * as nodeFs from 'node:fs'
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { LOCK_LEASE_MS } from '../../src/store/fs/lock.ts'
import type { Stage } from '../../src/store/store.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { testAll } from '../support/conformance.ts'

let folder: string
let key: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-faults-'))
  key = join(folder, 'x.af')
})
afterEach(async () => {
  vi.useRealTimers()
  await rm(folder, { recursive: true })
})

type Call = (...args: never[]) => unknown
/**
 * Called before each system call with its name; throws in place of it, or `after` it when it returns true.
 */
type Script = (name: string, args: readonly unknown[]) => undefined | { after: Error }

const failure = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code })

/** `node:fs` with a script. Closing always closes. */
function scripted(script: Script): object {
  const wrap = <T extends object>(target: T, prefix: string): T =>
    new Proxy(target, {
      get(_, name: string) {
        const value = (target as Record<string, unknown>)[name]
        if (name === 'promises') return wrap(value as object, 'promises.')
        if (typeof value !== 'function') return value
        return (...args: never[]) => {
          const run = (): unknown => (value as Call).apply(target, args)
          const isSync = name.endsWith('Sync')
          const act = (): unknown => {
            const close = name.startsWith('close')
            const done = close ? run() : undefined
            const fault = script(prefix + name, args)
            const result = close ? done : run()
            if (fault === undefined) return result
            if (isSync) throw fault.after
            return (result as Promise<unknown>).then(() => Promise.reject(fault.after))
          }
          if (isSync) return act()
          const done = args.at(-1) as unknown
          if (prefix === '' && typeof done === 'function') {
            try {
              const fault = script(name, args)
              const answer = (...results: unknown[]): unknown => (fault === undefined ? done(...results) : done(fault.after))
              return (value as (...args: unknown[]) => unknown).apply(target, [...args.slice(0, -1), answer])
            } catch (error) {
              return done(error)
            }
          }
          const handled = (async () => act())()
          return prefix === 'promises.' && name === 'open' ? handled.then((handle) => wrap(handle as object, 'handle.')) : handled
        }
      },
    })
  return wrap(nodeFs, '')
}

const content = async (): Promise<string> => await readFile(key, 'utf8').catch(() => 'nothing')
const text = (value: string): Uint8Array => new TextEncoder().encode(value)

async function staged(store: FileStore): Promise<Stage> {
  const stage = await store.stage(key)
  await stage.append(text('ne'))
  return stage
}

/** Operations, each with the object before and after it. */
const WORKS: [string, string, string, (store: FileStore, stage: Stage | undefined, etag: string) => Promise<unknown>][] = [
  ['creating', 'nothing', 'new', (_, stage) => stage!.publish(key, text('w'), { ifAbsent: true })],
  ['replacing', 'old', 'new', (_, stage) => stage!.publish(key, text('w'), { ifAbsent: false })],
  ['replacing a version', 'old', 'new', (_, stage, ifMatch) => stage!.publish(key, text('w'), { ifAbsent: false, ifMatch })],
  ['removing a version', 'old', 'nothing', (store, _, ifMatch) => store.delete(key, { ifMatch })],
]

describe.each(WORKS)('%s', (_, old, wanted, work) => {
  test.each(['instead of', 'after'])(
    'an error %s each system call leaves the old object or the new one, and a retry works',
    async (when) => {
      let all: string[] = []
      for (let at = 0; at <= all.length; at++) {
        await rm(key, { force: true })
        if (old !== 'nothing') await writeFile(key, old)
        const etag = (await new FileStore().stat(key))?.etag ?? ''
        const calls: string[] = []
        let count = -1
        const store = new FileStore(
          { syncReads: false },
          scripted((name) => {
            if (count < 0) return undefined
            calls.push(name)
            if (++count !== at) return undefined
            if (when === 'instead of') throw failure('EIO')
            // A failure after opening would leave the file open.
            return name.includes('open') ? undefined : { after: failure('EIO') }
          }),
        )
        let stage = wanted === 'nothing' ? undefined : await staged(store)
        count = 0
        const error = await work(store, stage, etag).then(
          () => undefined,
          (reason: unknown) => reason,
        )
        const where = `${when} ${calls[at - 1]}`
        count = -1
        const found = await content()
        expect([old, wanted], where).toContain(found)
        if (error === undefined) expect(found, where).toBe(wanted)
        else expect(isHyperslabError(error) && error.details.published ? found : wanted, where).toBe(wanted)
        if (error !== undefined) expect(isHyperslabError(error, 'StoreError'), `${where}: ${error}`).toBe(true)
        // Without a fault there is none, so that the faults are tried that there can be.
        if (at === 0) expect(error).toBeUndefined()
        if (at === 0) all = calls
        // A lock that could not be given back ends with its lease.
        if ((await readdir(folder)).includes('x.af.lock')) {
          vi.useFakeTimers({ toFake: ['Date'] })
          vi.setSystemTime(Date.now() + LOCK_LEASE_MS + 1000)
        }
        if (stage?.broken) {
          const bytes = await stage.read(0, stage.size)
          await expect(stage.publish(key, text('w'), { ifAbsent: false })).rejects.toMatchObject({ tag: 'StoreError' })
          await stage.discard()
          stage = await store.stage(key)
          await stage.append(bytes)
        }
        const again = work(store, stage, etag)
        if (found === wanted && stage !== undefined && !(wanted === 'new' && /^replacing$/.test(_)))
          await expect(again, where).rejects.toMatchObject({ tag: 'ConflictError' })
        else await again
        expect(await content(), where).toBe(wanted)
        await stage?.discard()
        await store.close()
        // A lock file that is left must not hinder other writers.
        if ((await readdir(folder)).includes('x.af.lock')) await new FileStore().put(key, text('next'))
        vi.useRealTimers()
        const left = (await readdir(folder)).filter((name) => name !== 'x.af')
        for (const name of left) expect(name, where).toMatch(/\.tmp$/)
        for (const name of left) await rm(join(folder, name))
      }
      // Enough for writing, the lock and the last step.
      expect(all.length).toBeGreaterThan(wanted === 'nothing' || old === 'nothing' ? 7 : 14)
    },
  )
})

test('an error of the folder alone does not pass for one of the publication; systems without that step are told apart', async () => {
  const failing = (code: string) =>
    new FileStore({ syncReads: false }, scripted((name, args) => { if (name === 'handle.sync' && ++syncs % 2 === 0) throw failure(code); void args; return undefined })) // biome-ignore format: one line
  let syncs = 0
  const stage = await staged(failing('EIO'))
  const error: unknown = await stage.publish(key, text('w'), { ifAbsent: true }).catch((reason: unknown) => reason)
  const published = (await new FileStore().stat(key))!
  expect(error).toMatchObject({
    tag: 'StoreError',
    details: { published },
    message: expect.stringMatching(/in its place.*power/),
  })
  await stage.discard()
  syncs = 0
  const other = await staged(failing('EINVAL'))
  await other.publish(key, text('w'), { ifAbsent: false })
  await other.discard()
})

test('a flush after a failed fsync of its data writes them again, and checks them by reading', async () => {
  let fails = false
  const damage = { on: false }
  const store = new FileStore(
    { syncReads: false },
    scripted((name) => {
      if (name === 'handle.sync' && fails) {
        fails = false
        if (damage.on)
          for (const file of nodeFs.readdirSync(folder)) if (file.endsWith('.tmp')) nodeFs.truncateSync(join(folder, file), 0)
        if (damage.on)
          for (const file of nodeFs.readdirSync(folder)) if (file.endsWith('.tmp')) nodeFs.truncateSync(join(folder, file), 1e5)
        throw failure('EIO')
      }
      return undefined
    }),
  )
  const file = await ArrayFile.create(store, key, { blockBytes: 64 })
  const x = file.createArray('x', { dtype: 'uint8', shape: [1000], chunks: [100] })
  await x.set([], new Uint8Array(1000).fill(5))
  fails = true
  await expect(file.flush()).rejects.toMatchObject({ tag: 'StoreError' })
  await file.flush()
  await x.set([], new Uint8Array(1000).fill(6))
  fails = damage.on = true
  await expect(file.flush()).rejects.toMatchObject({ tag: 'StoreError' })
  await expect(file.flush()).rejects.toMatchObject({ tag: 'IntegrityError' })
  await file.close()
  const read = await ArrayFile.open(new FileStore(), key)
  expect((await read.array('x', 'uint8').get()).data).toEqual(new Uint8Array(1000).fill(5))
  await read.close()
})

describe('without hard links', () => {
  testAll(
    storeConformance(async () => ({
      store: new FileStore({ syncReads: false }, scripted((name) => { if (/link$/.test(name) && !/unlink|readlink/.test(name)) throw failure('EPERM'); if (name === 'linkSync') throw failure('ENOTSUP'); return undefined })), // biome-ignore format: one line
      prefix: `${await mkdtemp(join(folder, 'without-'))}/`,
    })),
  )
})

describe('locks', () => {
  const lock = () => `${key}.lock`
  const replace = async (store = new FileStore()): Promise<void> => {
    const stage = await staged(store)
    await stage.publish(key, text('w'), { ifAbsent: false }).finally(() => stage.discard())
  }

  test('one of a process that is dead is taken over at once, one that says nothing when its lease is over', async () => {
    const { pid } = spawnSync('true')
    const machine =
      nodeFs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() + nodeFs.readlinkSync('/proc/self/ns/pid')
    await writeFile(lock(), JSON.stringify({ token: 'a', pid, machine, time: Date.now() }))
    await replace()
    await writeFile(lock(), '')
    const past = Date.now() / 1000 - LOCK_LEASE_MS / 1000 - 5
    await utimes(lock(), past, past)
    await replace()
    expect(await readdir(folder)).toEqual(['x.af'])
  })

  test('one of a process that lives is waited for', async () => {
    await writeFile(lock(), JSON.stringify({ token: 'a', pid: process.pid, machine: 'another', time: Date.now() }))
    let done = false
    const replaced = replace().then(() => {
      done = true
    })
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(done).toBe(false)
    await rm(lock())
    await replaced
    expect(await content()).toBe('new')
  })

  test('a process that was paused for longer than the lease changes nothing, and can publish again', async () => {
    const real = Date.now()
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(real)
    let meanwhile: (() => void) | undefined
    const slow = new FileStore(
      { syncReads: false },
      scripted((name) => {
        if (name === 'renameSync') {
          const then = meanwhile
          meanwhile = undefined
          then?.()
        }
        return undefined
      }),
    )
    const stage = await staged(slow)
    // Between its last look at the lock and the system call another one takes the lock over, which takes away
    // what was to be renamed.
    meanwhile = () => {
      const holder = JSON.parse(nodeFs.readFileSync(lock(), 'utf8'))
      expect(nodeFs.existsSync(join(folder, holder.staged))).toBe(true)
      vi.setSystemTime(real + LOCK_LEASE_MS + 5000)
      const script = `import { FileStore } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
        Date.now = () => ${real + LOCK_LEASE_MS + 5000}
        await new FileStore().put(${JSON.stringify(key)}, new TextEncoder().encode('theirs'))`
      execFileSync(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
    }
    await expect(stage.publish(key, text('w'), { ifAbsent: false })).rejects.toMatchObject({ tag: 'StoreError' })
    expect(await content()).toBe('theirs')
    const { etag } = (await slow.stat(key))!
    await stage.publish(key, text('w'), { ifAbsent: false, ifMatch: etag })
    expect(await content()).toBe('new')
    await stage.discard()
    await slow.close()
    expect(await readdir(folder)).toEqual(['x.af'])
  })

  test('a file of a user with the name of a lock is kept, and named by the error', async () => {
    const past = new Date(Date.now() - 10 * LOCK_LEASE_MS)
    for (const notes of ['my own notes', '{"title": 1}', '[]', 'null', '\0\0a', '{"token"x']) {
      await writeFile(lock(), notes)
      await utimes(lock(), past, past)
      await expect(replace()).rejects.toMatchObject({ tag: 'StoreError', details: { file: lock() } })
      expect(await readFile(lock(), 'utf8')).toBe(notes)
    }
    for (const rest of ['', '{"tok', '{"token":"a', '\0\0\0']) {
      await writeFile(lock(), rest)
      await utimes(lock(), past, past)
      await replace()
      expect(await readdir(folder)).not.toContain('x.af.lock')
    }
  })

  test('a foreign name in a lock is not followed', async () => {
    await writeFile(join(folder, 'precious'), '1')
    for (const name of ['precious', '../precious', `${folder}/precious`]) {
      await writeFile(lock(), JSON.stringify({ token: 'a', time: 0, staged: name }))
      await replace()
      expect(await readdir(folder)).toContain('precious')
    }
  })
})

test('temporary files of a week ago are removed by whoever writes beside them, younger ones and others stay', async () => {
  const week = 7 * 24 * 3600
  const random = '0123456789abcdef01234567'
  const recent = `x.af.9-${random}.tmp`
  const old = [`x.af.123-${random}.tmp`, `y.hyperslab-import-${random}.af`, 'x.af.lock']
  // Names that a user may choose are not removed.
  const kept = ['x.tmp', 'notes.lock', 'a.12.tmp', 'run.2020-final.tmp', 'y.unfinished-draft.af', recent]
  for (const name of [...old, ...kept]) {
    await writeFile(join(folder, name), 'abc')
    const time = Date.now() / 1000 - week + (name === recent ? 60 : -60)
    await utimes(join(folder, name), time, time)
  }
  const store = new FileStore()
  const names = (await store.files.leftovers(key)).map(({ key: path, size }) => [path.slice(folder.length + 1), size])
  expect(names.sort()).toEqual([...old, recent].map((name) => [name, 3]).sort())
  await (await store.stage(key)).discard()
  expect((await readdir(folder)).sort()).toEqual([...kept].sort())
})

const mounted =
  spawnSync('sh', ['-c', 'd=$(mktemp -d) && mount -t tmpfs -o size=64k tmpfs "$d" && umount "$d" && rmdir "$d"']).status === 0
if (!mounted && process.env['CI'] !== 'true') console.warn('SKIPPED: tests on a full disk (they mount a tmpfs, as root)')
describe.skipIf(!mounted && process.env['CI'] !== 'true')('on a full disk', () => {
  beforeEach(() => void execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]))
  afterEach(() => void execFileSync('umount', ['-l', folder]))

  test('a flush that does not fit on the disk loses nothing, and succeeds once there is room', async () => {
    const store = new FileStore()
    const file = await ArrayFile.create(store, key, { codec: 'none', blockBytes: 65536 })
    const x = file.createArray('x', { dtype: 'uint8', shape: [400_000], chunks: [10_000] })
    await x.set([], new Uint8Array(400_000).fill(1))
    await file.flush()
    await writeFile(join(folder, 'ballast'), new Uint8Array(1_400_000))
    const write = async (): Promise<void> => {
      await x.set([], new Uint8Array(400_000).fill(2))
      await file.flush()
    }
    await expect(write()).rejects.toMatchObject({ tag: 'StoreError', message: expect.stringMatching(/full/) })
    const seen = await ArrayFile.open(new FileStore(), key)
    expect((await seen.array('x', 'uint8').get()).data).toEqual(new Uint8Array(400_000).fill(1))
    await seen.close()
    await rm(join(folder, 'ballast'))
    await write()
    await file.close()
    const read = await ArrayFile.open(new FileStore(), key)
    expect((await read.array('x', 'uint8').get()).data).toEqual(new Uint8Array(400_000).fill(2))
    await read.close()
    expect((await readdir(folder)).filter((name) => /tmp|lock/.test(name))).toEqual([])
  })

  test('things can be removed', async () => {
    const store = new FileStore()
    await store.put(key, new Uint8Array(1000))
    const { etag } = (await store.stat(key))!
    await writeFile(join(folder, 'ballast'), new Uint8Array(1000))
    expect(() => { for (;;) nodeFs.appendFileSync(join(folder, 'ballast'), new Uint8Array(1000)) }).toThrow(/ENOSPC/) // biome-ignore format: one line
    await store.delete(key, { ifMatch: etag })
    expect(await readdir(folder)).toEqual(['ballast'])
    await store.close()
  })
})

test('a flush waits for the disk three times, a compaction four times', async () => {
  const synced: string[] = []
  const store = new FileStore(
    { syncReads: false },
    scripted((name) => {
      if (name === 'handle.sync') synced.push(name)
      return undefined
    }),
  )
  const file = await ArrayFile.create(store, key)
  const array = file.createArray('x', { dtype: 'int32', shape: [4] })
  const syncsOf = async (work: () => Promise<void>): Promise<number> => {
    synced.length = 0
    await work()
    return synced.length
  }
  await array.set(null, 1)
  await file.flush()
  await array.set([0], 2)
  expect(await syncsOf(() => file.flush())).toBe(3)
  expect(await syncsOf(() => file.compact())).toBe(4)
  await file.close()
  expect(await readdir(folder)).toEqual(['x.af', 'x.stats'])
})
