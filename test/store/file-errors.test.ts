import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isHyperslabError } from '../../src/core/errors.ts'
import { fileError } from '../../src/store/fs/errors.ts'
import { FileStore } from '../../src/store/fs/file.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-errors-'))
  await writeFile(join(folder, 'file'), 'x')
  await mkdir(join(folder, 'folder', 'inner'), { recursive: true })
  await symlink(join(folder, 'loop'), join(folder, 'loop'))
})
afterAll(() => rm(folder, { recursive: true }))

const outcome = async (work: () => Promise<unknown>): Promise<unknown> => work().catch((error: unknown) => error)

/** Everything that a store asks of the file system, for a key. */
const operations = (store: FileStore, key: string): Record<string, () => Promise<unknown>> => ({
  stat: () => store.stat(key),
  getRange: () => store.getRange(key, 0, 1),
  getTail: () => store.getTail(key, 1),
  list: () => store.list(`${key}/`),
  put: () => store.put(key, Uint8Array.of(1)),
  delete: () => store.delete(key),
  stage: () => store.stage(key),
})

describe('every operation on a place that cannot be gives an error of ours that names it', () => {
  test.each<[string, () => string, string, RegExp]>([
    ['a NUL in the path', () => join(folder, 'a\0b'), 'InvalidArgumentError', /no path holds a NUL/],
    ['a name of 5000 letters', () => join(folder, 'a'.repeat(5000)), 'InvalidArgumentError', /longer than .*ENAMETOOLONG/],
    ['below a file', () => join(folder, 'file', 'x'), 'NotFoundError', /part of the path is a file.*ENOTDIR/],
    ['below links in a circle', () => join(folder, 'loop', 'x'), 'StoreError', /lead in a circle.*ELOOP/],
  ])('%s', async (_, place, tag, text) => {
    const store = new FileStore()
    for (const [name, run] of Object.entries(operations(store, place()))) {
      const error = await outcome(run)
      expect({ name, error }).toMatchObject({ error: { tag, message: expect.stringMatching(text) } })
      expect(String((error as { details: { file: string } }).details.file), name).toContain(place())
    }
  })

  test('a folder', async () => {
    const store = new FileStore()
    for (const [name, run] of Object.entries(operations(store, join(folder, 'folder')))) {
      if (['list', 'stage'].includes(name)) continue
      expect({ name, ours: isHyperslabError(await outcome(run)) }).toEqual({ name, ours: true })
    }
    await expect(store.delete(join(folder, 'folder'))).rejects.toThrow(/there is a folder of this name \(EISDIR\)|EPERM/)
    await expect(store.put(join(folder, 'folder'), new Uint8Array(1))).rejects.toThrow('there is a folder of this name')
  })
})

test.each<[string, string, RegExp]>([
  ['EACCES', 'ReadOnlyError', /permission is denied/],
  ['EROFS', 'ReadOnlyError', /read-only/],
  ['ENOSPC', 'StoreError', /disk is full; make room/],
  ['EIO', 'StoreError', /has failed; check it/],
  ['EMFILE', 'StoreError', /ulimit -n/],
  ['EWHATEVER', 'StoreError', /what the platform said/],
])('%s when writing is a %s', (code, tag, text) => {
  const cause = Object.assign(new Error('what the platform said'), { code })
  const error = fileError('x.af', 'written', cause)
  expect(error).toMatchObject({ tag, cause, details: { file: 'x.af' }, message: expect.stringMatching(text) })
  expect(fileError('x.af', 'read', cause).tag).toBe('StoreError')
})

test('too many open files, and a limit of the size, as processes meet them', () => {
  const program = `
    import { create, open } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
    import { openSync } from 'node:fs'
    const said = (work) => work.then(() => 'done', (error) => error.tag + ': ' + error.message)
    const file = await create(${JSON.stringify(join(folder, 'big.af'))}, { codec: 'none' })
    const x = file.createArray('x', { dtype: 'uint8', shape: [4e6] })
    await x.set(null, 1)
    console.log(await said(file.flush()))
    for (;;) try { openSync('/dev/null') } catch { break }
    console.log(await said(open(${JSON.stringify(join(folder, 'big.af'))})))
    process.exit(0)`
  const args = ['-c', 'ulimit -n 100 -f 2000; trap "" XFSZ; exec "$0" --input-type=module -e "$1"', process.execPath, program]
  const printed = execFileSync('bash', args, { encoding: 'utf8' })
  expect(printed).toMatch(
    /^StoreError: .*the file would be larger than .*\(EFBIG\)\nStoreError: .*too many files open.*\(EMFILE\)\n$/,
  )
})
