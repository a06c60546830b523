import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tensorOf } from '../../src/core/tensor.ts'
import { slice } from '../../src/grid/slice.ts'
import { Pool } from '../../src/pool/pool.ts'
import { Dataset, openDataset } from '../../src/runtime/dataset.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { HDF5_PACKAGES } from '../support/hdf5-filters.ts'
import { pythonWith } from '../support/python.ts'

const env = pythonWith(HDF5_PACKAGES)

let folder: string
const pool = new Pool({ size: 2 })
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-rewritten-'))
})
afterAll(async () => {
  await pool.close()
  await rm(folder, { recursive: true })
})

/** Sets the time of a file to an hour ago, since two changes within a tick of the clock give one time. */
const age = (path: string): void => fs.utimesSync(path, Date.now() / 1000 - 3600, Date.now() / 1000 - 3600)

/** Writes other bytes of the same length into a file, which stays the same file. */
function rewrite(path: string, bytes: Uint8Array): void {
  const file = fs.openSync(path, 'r+')
  fs.writeSync(file, bytes, 0, bytes.length, 0)
  fs.closeSync(file)
}

const old = Uint8Array.from({ length: 3000 }, () => 1)
const young = old.map(() => 2)
const conflict = { tag: 'ConflictError', message: expect.stringContaining('open it again') }

describe('a local file that another program rewrites in place while it is open is refused, or read anew', () => {
  test('has a new version: the old one is refused, and reads of any version give the new one', async () => {
    const [store, key] = [new FileStore(), join(folder, 'between')]
    await writeFile(key, old)
    age(key)
    const { etag } = (await store.stat(key))!
    const whole = { size: 3000, bytes: young, etag: expect.not.stringContaining(etag) }
    expect(await store.getRange(key, 10, 5, { ifMatch: etag })).toEqual(old.subarray(0, 5))
    rewrite(key, young)
    await expect(store.getRange(key, 10, 5, { ifMatch: etag })).rejects.toMatchObject(conflict)
    expect(await store.getRange(key, 10, 5)).toEqual(young.subarray(0, 5))
    expect(await store.get(key)).toMatchObject(whole)
    expect(await store.getTail(key, 5000)).toMatchObject(whole)
    fs.truncateSync(key, 100)
    await expect(store.getRange(key, 10, 200)).rejects.toMatchObject({ tag: 'FormatError' })
    await expect(store.getRange(key, 10, 200, { ifMatch: (await store.getTail(key, 1))!.etag })).rejects.toMatchObject({
      tag: 'FormatError',
    })
    await store.close()
  })

  test('during a read is read again, or refused', async () => {
    const key = join(folder, 'within')
    let rewrites = 0
    const read = (...args: Parameters<typeof fs.read>): void => {
      if (rewrites-- > 0) {
        rewrite(key, young)
        fs.utimesSync(key, rewrites, rewrites)
      }
      fs.read(...args)
    }
    const store = new FileStore({ syncReads: false }, { ...fs, read })
    for (const reading of [
      async () => (await store.get(key))!.bytes.subarray(0, 5),
      async () => (await store.getTail(key, 5))!.bytes,
      async () => store.getRange(key, 10, 5),
    ]) {
      await writeFile(key, old)
      rewrites = 3
      expect(await reading()).toEqual(young.subarray(0, 5))
      rewrites = 1e6
      await expect(reading()).rejects.toMatchObject(conflict)
      rewrites = 0
      await writeFile(key, old)
      const { etag } = (await store.stat(key))!
      rewrites = 1
      await expect(store.getRange(key, 10, 5, { ifMatch: etag })).rejects.toMatchObject(conflict)
    }
    await store.close()
  })

  const kinds = ['nc', 'af', ...(env ? ['zip', 'h5'] : [])]
  test.each(kinds.flatMap((ending) => [{}, { pool }].map((options) => [ending, options] as const)))(
    'never gives other values: .%s, options %o',
    async (ending, options) => {
      const path = join(folder, `values${'pool' in options ? 2 : 1}.${ending}`)
      await write(path, ending)
      age(path)
      // The directory of an archive is read anew, and is garbage here.
      const refusal = ending === 'zip' ? { tag: 'FormatError' } : conflict
      await using ds = await openDataset(path, options)
      const rows = async (from: number): Promise<Float64Array> =>
        ds
          .get('v')
          .isel({ y: slice(from, from + 20) })
          .values() as never
      expect(await rows(0)).toEqual(values.slice(0, 20 * 400))
      rewrite(
        path,
        fs.readFileSync(path).map((byte) => byte ^ 0x55),
      )
      await expect(rows(500)).rejects.toMatchObject(refusal)
      await expect(ds.get('v').sum().values()).rejects.toMatchObject(refusal)
    },
  )
})

const values = Float64Array.from({ length: 400_000 }, (_, i) => i)

/** Writes `v`, of shape [1000, 400] in chunks of 10 rows. */
async function write(path: string, ending: string): Promise<void> {
  if (ending === 'h5') return python(H5, path)
  const target = ending === 'zip' ? `${path}.zarr` : path
  const ds = new Dataset({ v: { dims: ['y', 'x'], data: tensorOf('float64', [1000, 400], values) } })
  await ds.write(target, ending === 'nc' ? {} : { chunks: { y: 10 } })
  if (ending === 'zip') python(ZIP, target, path)
}

const python = (script: string, ...args: string[]): void => {
  execFileSync('python3', ['-c', `import sys\n${script}`, ...args], { env, stdio: 'inherit' })
}

const H5 = `
import h5py, numpy
with h5py.File(sys.argv[1], 'w') as f:
    v = f.create_dataset('v', data=numpy.arange(400000.).reshape(1000, 400), chunks=(10, 400), compression='gzip')
    for axis, name in enumerate('yx'):
        v.dims[axis].label = name
        f[name] = numpy.arange(v.shape[axis])
        f[name].make_scale(name)
        v.dims[axis].attach_scale(f[name])
`
const ZIP = `
import os, zipfile
folder, path = sys.argv[1:]
with zipfile.ZipFile(path, 'w') as archive:
    for at, _, names in os.walk(folder):
        for name in names:
            archive.write(os.path.join(at, name), os.path.relpath(os.path.join(at, name), folder))
`
