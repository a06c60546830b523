import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { FileStore } from '../../src/store/fs/file.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { testAll } from '../support/conformance.ts'

const folders: string[] = []
const folder = async (): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'hyperslab-store-'))
  folders.push(path)
  return path
}
afterAll(async () => {
  for (const path of folders) await rm(path, { recursive: true })
})

describe('file store', () => {
  testAll(storeConformance(async () => ({ store: new FileStore(), prefix: `${await folder()}/` })))

  test('an open version stays readable after it was replaced', async () => {
    const store = new FileStore()
    const key = join(await folder(), 'x')
    await store.put(key, Uint8Array.of(1))
    const { etag } = (await store.stat(key))!
    expect(await store.getRange(key, 0, 1, { ifMatch: etag })).toEqual(Uint8Array.of(1))
    await store.put(key, Uint8Array.of(2))
    expect(await store.getRange(key, 0, 1, { ifMatch: etag })).toEqual(Uint8Array.of(1))
    expect(await store.getRange(key, 0, 1)).toEqual(Uint8Array.of(2))
    await store.close()
  })

  test.skipIf(process.platform === 'win32')('a replaced file keeps its permissions, a new one has the usual ones', async () => {
    const store = new FileStore()
    const key = join(await folder(), 'x')
    const mode = (): number => fs.statSync(key).mode & 0o777
    for (const kept of [0o600, 0o640, 0o666]) {
      await store.put(key, Uint8Array.of(1))
      fs.chmodSync(key, kept)
      await store.put(key, Uint8Array.of(2))
      expect(mode()).toBe(kept)
      const stage = await store.stage(key)
      await stage.publish(key, Uint8Array.of(3), { ifAbsent: false })
      await stage.discard()
      expect(mode()).toBe(kept)
    }
    fs.unlinkSync(key)
    await store.put(key, Uint8Array.of(1))
    expect(mode()).toBe(0o666 & ~process.umask())
    await store.close()
  })

  test.skipIf(process.platform === 'win32')('a staged file is as private as the one that it replaces', async () => {
    const store = new FileStore()
    const place = await folder()
    const key = join(place, 'x')
    const umask = process.umask(0)
    try {
      for (const [old, staged] of [
        [undefined, 0o666],
        [0o600, 0o600],
        [0o640, 0o660],
        [0o400, 0o600],
        [0o644, 0o666],
      ] as const) {
        if (old !== undefined) {
          await writeFile(key, 'x')
          fs.chmodSync(key, old)
        }
        const stage = await store.stage(key)
        await stage.append(Uint8Array.of(1))
        const [name] = (await readdir(place)).filter((each) => each.endsWith('.tmp'))
        expect(fs.statSync(join(place, name!)).mode & 0o777).toBe(staged)
        await stage.publish(key, Uint8Array.of(2), { ifAbsent: false })
        await stage.discard()
        if (old !== undefined) expect(fs.statSync(key).mode & 0o777).toBe(old)
        await rm(key)
      }
    } finally {
      process.umask(umask)
    }
    await store.close()
  })

  test('what comes back is read into again, by ranges of about its length', async () => {
    const store = new FileStore()
    const key = join(await folder(), 'x')
    const all = Uint8Array.from({ length: 2_000_000 }, (_, i) => (i * i) >> 5)
    await store.put(key, all)
    const read = async (offset: number, length: number): Promise<Uint8Array> => (await store.getRange(key, offset, length))!
    // Compressed blocks differ in length by some thousandths.
    for (const [first, then] of [
      [1_000_000, 1_003_000],
      [1_003_000, 1_000_000],
      [40_000, 40_000],
      [524_288, 524_288],
    ] as const) {
      const bytes = await read(0, first)
      const { buffer } = bytes
      expect(buffer.byteLength).toBeLessThan(first * 1.07)
      store.files.recycle(bytes)
      const again = await read(7, then)
      expect(again.buffer === buffer).toBe(true)
      expect(Buffer.compare(again, all.subarray(7, 7 + then))).toBe(0)
      // This buffer has not been recycled.
      expect((await read(9, then)).buffer === buffer).toBe(false)
    }
    await store.close()
  })

  test('a stage that was prepared for one folder is published in another from a file beside its place', async () => {
    const renamed: string[] = []
    const renameSync = (from: string, to: string): void => {
      renamed.push(dirname(from), dirname(to))
      fs.renameSync(from, to)
    }
    const store = new FileStore({ syncReads: false }, { ...fs, renameSync })
    const [here, there, tail] = [await folder(), await folder(), Uint8Array.of(9)]
    const stage = await store.stage(join(here, 'x'))
    await stage.append(Uint8Array.of(1))
    await stage.prepare!(join(here, 'x'), tail)
    await stage.publish(join(there, 'x'), tail, { ifAbsent: false })
    expect(await store.getRange(join(there, 'x'), 0, 2)).toEqual(Uint8Array.of(1, 9))
    // A rename between folders may cross file systems. A writer that takes over a lock looks beside the file.
    expect(renamed).toEqual([there, there])
    expect(await readdir(here)).toEqual([])
    await stage.discard()
    expect(await readdir(there)).toEqual(['x'])
    await store.close()
  })

  test('what is replaced or removed is held open until that is done, as its space is freed with its last handle', async () => {
    const key = join(await folder(), 'x')
    const log: string[] = []
    const logged = <F extends (...args: never[]) => unknown>(name: string, call: F): F =>
      ((...args: never[]) => {
        if (!String(args[0]).endsWith('.lock')) log.push(name)
        return call(...args)
      }) as F
    const [open, close] = [logged('open', fs.open), logged('close', fs.close)]
    const [renameSync, unlinkSync] = [logged('rename', fs.renameSync), logged('unlink', fs.unlinkSync)]
    const store = new FileStore({ syncReads: false }, { ...fs, open, close, renameSync, unlinkSync })
    await store.put(key, Uint8Array.of(1))
    expect(log.splice(0)).toEqual(['open', 'rename'])
    await store.put(key, Uint8Array.of(2))
    expect(log.splice(0)).toEqual(['open', 'rename', 'close'])
    await store.delete(key)
    expect(log).toEqual(['open', 'unlink', 'close'])
  })

  test('more files than handles it keeps open', async () => {
    const store = new FileStore()
    const path = await folder()
    for (let i = 0; i < 150; i++) await writeFile(join(path, String(i)), Uint8Array.of(i))
    const read = (i: number) => store.getRange(join(path, String(i)), 0, 1)
    for (let round = 0; round < 2; round++) {
      const results = await Promise.all(Array.from({ length: 150 }, (_, i) => read(i)))
      expect(results.map((each) => each![0])).toEqual(Array.from({ length: 150 }, (_, i) => i))
    }
    const open = (await readdir('/proc/self/fd').catch(() => [])).length
    expect(open).toBeLessThan(150)
    await store.close()
  })

  test('opening for the end of a file leaves one handle, and none on what is no file', async () => {
    const store = new FileStore()
    const path = await folder()
    const handles = async (): Promise<number> => (await readdir('/proc/self/fd').catch(() => [])).length
    const before = await handles()
    const key = join(path, 'x')
    await store.put(key, Uint8Array.of(1, 2, 3))
    const tails = await Promise.all([store.getTail(key, 2), store.getTail(key, 9), store.getTail(key, 2)])
    expect(tails.map((tail) => tail!.bytes)).toEqual([Uint8Array.of(2, 3), Uint8Array.of(1, 2, 3), Uint8Array.of(2, 3)])
    expect(await store.getRange(key, 0, 1, { ifMatch: tails[0]!.etag })).toEqual(Uint8Array.of(1))
    if (before > 0) expect(await handles()).toBe(before + 1)
    execFileSync('mkfifo', [join(path, 'pipe')])
    for (const other of [path, join(path, 'pipe')])
      await expect(store.getTail(other, 1)).rejects.toMatchObject({ tag: 'FormatError', details: { file: other } })
    await store.close()
    expect(await handles()).toBe(before)
  })

  test('places that cannot be read or written say why and leave nothing', async () => {
    const store = new FileStore()
    const path = await folder()
    await expect(store.stat(path)).rejects.toMatchObject({ tag: 'FormatError', details: { file: path } })
    const nowhere = join(path, 'no such folder', 'x.af')
    expect(await store.stat(nowhere)).toBeUndefined()
    expect(await store.list(nowhere)).toEqual([])
    await expect(store.put(nowhere, Uint8Array.of(1))).rejects.toMatchObject({ tag: 'StoreError', details: { file: nowhere } })
    // Replacing a folder by a file fails only at the last step.
    await expect(store.put(path, Uint8Array.of(1))).rejects.toMatchObject({ tag: 'StoreError' })
    expect(await readdir(path)).toEqual([])
    await symlink(join(path, 'loop'), join(path, 'loop'))
    await expect(store.stat(join(path, 'loop'))).rejects.toThrow(/ELOOP/)
  })

  test('folders are made and gone through where that is asked for, and go when they are empty', async () => {
    const store = new FileStore()
    const root = `${await mkdtemp(join(tmpdir(), 'hyperslab-folders-'))}/`
    const put = async (name: string): Promise<void> => {
      await store.files.makeFolder(root + name)
      await store.put(root + name, Uint8Array.of(1))
    }
    await expect(store.put(`${root}a/b`, Uint8Array.of(1))).rejects.toMatchObject({ tag: 'StoreError' })
    for (const name of ['a/b/c', 'a/b/d', 'a/e/f', 'ab']) await put(name)
    const below = async (prefix: string): Promise<string[]> =>
      (await store.list(root + prefix, { deep: true })).map((key) => key.slice(root.length)).sort()
    expect(await below('')).toEqual(['a/b/c', 'a/b/d', 'a/e/f', 'ab'])
    expect(await below('a/')).toEqual(['a/b/c', 'a/b/d', 'a/e/f'])
    expect(await below('none/')).toEqual([])
    expect((await store.list(`${root}a`)).map((key) => key.slice(root.length)).sort()).toEqual(['a', 'ab'])
    for (const name of ['a/b/c', 'a/b/d']) await store.delete(root + name)
    await store.files.removeFolder(`${root}a/`)
    await store.files.removeFolder(`${root}none/`)
    expect([await readdir(`${root}a`), await below('')]).toEqual([['e'], ['a/e/f', 'ab']])
    await rm(root, { recursive: true })
  })

  test('names with letters beyond ASCII', async () => {
    const store = new FileStore()
    const key = join(await folder(), 'größe-温度.af')
    for (const byte of [1, 2]) await store.put(key, Uint8Array.of(byte))
    expect(await store.getRange(key, 0, 1)).toEqual(Uint8Array.of(2))
    expect(await store.list(key)).toEqual([key])
  })

  test('relative paths', async () => {
    const store = new FileStore()
    expect(await store.list('package.jso')).toEqual(['package.json'])
    expect((await store.stat('package.json'))!.size).toBeGreaterThan(100)
  })
})
