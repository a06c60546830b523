import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { attributeKey } from '../../src/af/format/attribute-key.ts'
import { chunkTable, encodeFooterFile } from '../../src/af/format/encode.ts'
import { encodeFooter6 } from '../../src/af/format/encode-v6.ts'
import type { AttributeValue, Footer } from '../../src/af/format/footer.ts'
import { readFooter6 } from '../../src/af/format/footer-v6.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { importContainer } from '../../src/copy/import-container.ts'
import { joinBytes } from '../../src/core/bytes.ts'
import { compareCodePoints } from '../../src/core/text.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import {
  type ArrayFile,
  create,
  DiskArray,
  type ImmutableArray,
  MemoryStore,
  open,
  verify,
  writeImmutable,
} from '../../src/runtime/index.ts'
import { importNetcdf } from '../../src/runtime/netcdf.ts'
import type { Store } from '../../src/runtime/store.ts'
import { readWhole } from '../../src/store/whole.ts'
import { asWritable } from '../../src/store/writer.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { describeFile, description } from '../interop/judge.ts'
import { writeHere } from '../interop/programs.ts'
import { programs } from '../interop/steps.ts'
import { runs } from '../support/budget.ts'
import { createWithBase, footerOf, metaOf } from '../support/containers.ts'

/** Files by crate 0.15 of array-format. */
const FOLDER = fileURLToPath(new URL('../fixtures/af6/', import.meta.url))
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.af'))

const bytesOf = (name: string): Uint8Array => new Uint8Array(readFileSync(FOLDER + name))

function footerIn(file: Uint8Array): Footer {
  const { payload, dataBytes } = splitFile(file, 'ARRF')
  return readFooter6(payload, dataBytes, 64)
}

const footerAt = async (store: Store, path: string): Promise<Footer> => footerIn((await readWhole(store, path))!.bytes)

/** All that a footer says of its arrays, but for where their chunks are. */
function contentsOf({ arrays, attributeKeys, attributeValues }: Footer): unknown {
  return arrays.map(({ chunks: { coords, sizes }, attributes: { keys, values }, ...rest }) => ({
    ...rest,
    chunks: [coords, sizes],
    attributes: keys.map((key, i) => [attributeKeys[key], attributeValues[values[i]!]]),
  }))
}

const empty = async (): Promise<ArrayFile> => create({ store: new MemoryStore(), path: 'a.af' })

async function small(): Promise<ArrayFile> {
  const file = await empty()
  await file.createArray('x', { dtype: 'int16', shape: [3], fillValue: -1 }).set(null, [1, 2, 3])
  await file.flush()
  return file
}

const filled = (dtype: 'float64' | 'int16', shape: readonly number[], value: number, more = {}): DiskArray =>
  new DiskArray({ dtype, shape, chunks: shape, readBlock: (_, out) => void out.data.fill(value), ...more })

test.each(FILES)('encodes the footer of %s again as the same bytes', (name) => {
  const { payload, dataBytes } = splitFile(bytesOf(name), 'ARRF')
  expect(Buffer.compare(encodeFooter6(readFooter6(payload, dataBytes, 64)), payload)).toBe(0)
})

test.each(FILES)('copies %s, into layers and back, with the statistics that the crate computes', async (name) => {
  const expected = contentsOf(footerIn(bytesOf(name)))
  const store = new MemoryStore()
  await using file = await open(FOLDER + name)
  await writeImmutable(file, { store, path: 'x.af' })
  expect(contentsOf(await footerAt(store, 'x.af'))).toEqual(expected)
  await importContainer({ store, path: 'x.af' }, { store, path: 'layered.af' })
  await using layered = await open({ store, path: 'layered.af' })
  expect(layered.layers()[0]!.version).toBe(5)
  await writeImmutable(layered, { store, path: 'y.af' }, { codec: 'none' })
  expect(contentsOf(await footerAt(store, 'y.af'))).toEqual(expected)
  for (const path of ['x.af', 'y.af', 'layered.af'])
    expect((await (await open({ store, path })).verify({ deep: true })).findings, path).toEqual([])
})

test('reads what random programs write, with their statistics and attributes', async () => {
  await fc.assert(
    fc.asyncProperty(programs, async (program) => {
      const store = new MemoryStore()
      const model = await writeHere(program, { store, path: 'x.af' })
      const read = await describeFile(await open({ store, path: 'x.af' }), model)
      expect(read).toEqual([...model.values()].map(description))
      const { arrays } = await footerAt(store, 'x.af')
      for (const { name, stats } of arrays) {
        const { min, max, nullCount, rowCount } = model.get(name)!.stats()
        expect(stats, name).toEqual({ name, min, max, nullCount: BigInt(nullCount), rowCount: BigInt(rowCount) })
      }
    }),
    { numRuns: runs(100) },
  )
})

test('sorts keys of attributes by their UTF-8 bytes', async () => {
  const keys = ['～', '😀', 'z', 'é', 'Z', 'a～', 'a😀', 'a']
  const file = await small()
  for (const key of keys) file.array('x').attrs.set(key, key)
  await file.flush()
  const store = new MemoryStore()
  await writeImmutable(file, { store, path: 'x.af' })
  const { arrays, attributeKeys } = await footerAt(store, 'x.af')
  const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  expect(arrays[0]!.attributes.keys.map((key) => attributeKeys[key])).toEqual(sorted)
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (a, b) => {
      expect(Math.sign(compareCodePoints(a, b))).toBe(Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))))
    }),
  )
})

test('keeps values apart that differ in type, sign of zero or bits of a NaN', async () => {
  const nan = (bits: bigint): AttributeValue => ({ type: 'float64', value: Number.NaN, bits })
  const list = (bits: bigint): AttributeValue => ({
    type: 'float64[]',
    value: new Float64Array(new BigUint64Array([bits]).buffer),
  })
  const values: AttributeValue[] = [
    ...[0x7ff8000000000000n, 0x7ff8000000000001n, 0xfff8000000000000n].flatMap((bits) => [nan(bits), list(bits)]),
    { type: 'float64', value: 0 },
    { type: 'float64', value: -0 },
    { type: 'int32', value: 0 },
    { type: 'int64', value: 0n },
    { type: 'string', value: '0' },
    { type: 'string[]', value: ['0'] },
    { type: 'string[]', value: ['', '0'] },
    { type: 'string[]', value: ['0', ''] },
    { type: 'binary[]', value: [Uint8Array.of(1), new Uint8Array()] },
    { type: 'binary[]', value: [new Uint8Array(), Uint8Array.of(1)] },
    { type: 'binary', value: Uint8Array.of(1) },
    { type: 'uint8[]', value: Uint8Array.of(1) },
    { type: 'bool', value: false },
  ]
  const file = await small()
  for (const [i, value] of values.entries()) file.array('x').attrs.set(`key ${i}`, value)
  await file.flush()
  const store = new MemoryStore()
  await writeImmutable(file, { store, path: 'x.af' })
  const { attributeValues } = await footerAt(store, 'x.af')
  const bits = (all: readonly AttributeValue[]) =>
    all.map(({ value, ...rest }) => [
      rest,
      value instanceof Float64Array
        ? new BigUint64Array(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength))
        : Object.is(value, -0)
          ? '-0'
          : value,
    ])
  const byKey = [...(await open({ store, path: 'x.af' })).array('x').attrs.keys()]
  expect(attributeValues.length).toBe(values.length)
  expect(bits(attributeValues)).toEqual(bits(byKey.map((key) => values[Number(key.slice(4))]!)))
})

test('refuses a list that names one long string so often that no text has room for it', () => {
  const value = Array<string>(300).fill('x'.repeat(2 ** 20))
  expect(() => attributeKey({ type: 'string[]', value })).toThrow(
    expect.objectContaining({ tag: 'TooLargeError', message: expect.stringContaining('314572800 characters') }),
  )
})

describe('statistics', () => {
  test('order NaNs by their payloads, as float32 before they are widened', async () => {
    const file = await empty()
    const put = async (name: string, dtype: 'float32' | 'float64', bits: readonly bigint[], chunk: number) => {
      const Bits = dtype === 'float32' ? Uint32Array : BigUint64Array
      const values = (dtype === 'float32' ? bits.map(Number) : bits) as never
      const data = new (dtype === 'float32' ? Float32Array : Float64Array)(new Bits(values).buffer)
      const array = file.createArray(name, { dtype, shape: [bits.length], chunks: [chunk] })
      await array.set(null, { shape: [bits.length], data } as never)
    }
    await put(
      'wide',
      'float64',
      [0x7ff8000000000002n, 0x3ff0000000000000n, 0x7ff8000000000007n, 0xfff8000000000001n, 0xfff8000000000003n],
      2,
    )
    await put('narrow', 'float32', [0x7fc00001n, 0x3f800000n, 0x7fc00003n], 1)
    await put('positive', 'float64', [0x7ff8000000000005n, 0x7ff8000000000001n], 2)
    await file.flush()
    const store = new MemoryStore()
    await writeImmutable(file, { store, path: 'x.af' })
    const { arrays } = await footerAt(store, 'x.af')
    const bounds = arrays.map(({ stats }) =>
      [stats!.min, stats!.max].map((bound) => (bound as { bits: bigint }).bits.toString(16)),
    )
    expect(bounds).toEqual([
      ['fff8000000000003', '7ff8000000000007'],
      ['3ff0000000000000', '7ff8000060000000'],
      ['7ff8000000000001', '7ff8000000000005'],
    ])
  })

  test('follow the shape of an array that was resized', async () => {
    const file = await empty()
    const x = file.createArray('x', { dtype: 'int32', shape: [5], chunks: [3], fillValue: -1 })
    await x.set(null, [1, 2, 3, 4, 5])
    await file.flush()
    await x.resize([4])
    await file.flush()
    const store = new MemoryStore()
    await writeImmutable(file, { store, path: 'x.af' })
    const [{ stats }] = (await footerAt(store, 'x.af')).arrays as [Footer['arrays'][number]]
    expect([stats!.max, stats!.nullCount, stats!.rowCount]).toEqual([{ kind: 'int', value: 4n }, 0n, 4n])
  })
})

describe('what other programs leave in containers', () => {
  /**
   * A container of one LZ4 block, whose size in front is wrong, in chunks of length 0, without names of axes.
   */
  async function foreign(store: Store): Promise<void> {
    const block = Uint8Array.of(99, 0, 0, 0, 0x20, 7, 9)
    const meta = metaOf('x', { kind: 'uint8' }, [2], {
      dimensionNames: [],
      chunks: chunkTable(1, [{ coord: [0], blockId: 0, offset: 0, size: 2 }]),
    })
    const none = metaOf('none', { kind: 'uint8' }, [0, 2], { chunkShape: [0, 2] })
    const blocks = [{ id: 0, fileOffset: 0, compressedBytes: block.length, uncompressedBytes: 2, codec: 'lz4' }]
    await asWritable(store).put('a.af', joinBytes([block, encodeFooterFile(footerOf([meta, none], { blocks }))]))
  }

  test('is put right: extents of 0, names of axes, the size in front of a block', async () => {
    const store = new MemoryStore()
    await foreign(store)
    await writeImmutable(await open({ store, path: 'a.af' }), { store, path: 'x.af' }, { blockBytes: 1 })
    const file = await open({ store, path: 'x.af' })
    expect(await file.array('x').toTensor()).toMatchObject({ data: Uint8Array.of(7, 9) })
    expect(file.array('x').dimensionNames).toEqual(['dim0'])
    expect([file.array('none').shape, file.array('none').chunks.chunkShape]).toEqual([
      [0, 2],
      [1, 2],
    ])
    expect((await file.verify({ deep: true })).findings).toEqual([])
  })
})

describe('sources', () => {
  test('are arrays by name, with other chunks, fill values, names of axes and attributes of every type', async () => {
    const store = new MemoryStore()
    const scale = { type: 'float32', value: 0.5 } as const
    const { arrays } = await writeImmutable(
      new Map<string, DiskArray | ImmutableArray>([
        [
          'b',
          {
            array: filled('int16', [4, 3], 7),
            chunks: [2, 3],
            dimensionNames: ['t', 'x'],
            fillValue: -9,
            attributes: { scale, list: [1n] },
          },
        ],
        ['1', filled('float64', [2], 0.5)],
      ] as const),
      { store, path: 'x.af' },
      { codec: 'zstd', attributes: { title: 'two' } },
    )
    expect(arrays).toEqual(['b', '1'])
    const file = await open({ store, path: 'x.af' })
    expect([file.arrays(), file.attrs.get('title'), file.layers()[0]!.version]).toEqual([['b', '1'], 'two', 6])
    const b = file.array('b')
    expect([b.chunks.chunkShape, b.dimensionNames, b.fillValue, b.attrs.typed('scale'), b.attrs.typed('list')]).toEqual([
      [2, 3],
      ['t', 'x'],
      -9,
      scale,
      { type: 'int64[]', value: BigInt64Array.of(1n) },
    ])
    expect([await b.sum(), await file.array('1').sum()]).toEqual([84, 1])
  })

  test('keep their attributes with types, and their chunks, where nothing else is given', async () => {
    const file = await empty()
    const x = file.createArray('x', { dtype: 'uint8', shape: [4], chunks: [2], dimensionNames: ['t'], fillValue: 3 })
    x.attrs.set('n', { type: 'int8', value: 5 })
    await x.set([0], 1)
    await file.flush()
    const store = new MemoryStore()
    await writeImmutable({ y: file.array('x') }, { store, path: 'x.af' })
    const y = (await open({ store, path: 'x.af' })).array('y')
    expect([y.attrs.typed('n'), y.chunks.chunkShape, y.dimensionNames, y.fillValue]).toEqual([
      { type: 'int8', value: 5 },
      [2],
      ['t'],
      3,
    ])
    expect(await y.toTensor()).toMatchObject({ data: Uint8Array.of(1, 3, 3, 3) })
  })

  test('give missing elements the fill value that is asked for', async () => {
    const store = new MemoryStore()
    const array = filled('int16', [2], 5, { fillValue: 5 })
    await writeImmutable({ x: { array, fillValue: -1 } }, { store, path: 'x.af' })
    const x = (await open({ store, path: 'x.af' })).array('x')
    expect([x.fillValue, await x.count(), (await x.toTensor()) as unknown]).toMatchObject([
      -1,
      0,
      { data: Int16Array.of(-1, -1) },
    ])
  })

  test('are files of other formats, which are open until all is written', async () => {
    const store = new MemoryStore()
    const source = fileURLToPath(new URL('../../demo/data/tas_rectilinear_grid_2D.nc', import.meta.url))
    await importNetcdf(source, { store, path: 'x.af' }, { immutable: true })
    await importNetcdf(source, { store, path: 'y.af' })
    const [x, y] = [await open({ store, path: 'x.af' }), await open({ store, path: 'y.af' })]
    expect([x.layers()[0]!.version, x.arrays()]).toEqual([6, y.arrays()])
    for (const name of x.arrays()) expect(await x.array(name).equals(y.array(name)), name).toBe(true)
  })

  test('are datasets, with their labels', async () => {
    const store = new MemoryStore()
    const ds = new Dataset({ t: { dims: ['x'], data: [1, 2] } }, { coords: { x: [10, 20] }, attrs: { title: 'labelled' } })
    await writeImmutable(ds, { store, path: 'x.af' })
    await ds.write({ store, path: 'y.af' }, { immutable: true })
    for (const path of ['x.af', 'y.af']) {
      const file = await open({ store, path })
      expect([
        file.layers()[0]!.version,
        await file.array('x').sum(),
        await file.array('t').sum(),
        file.attrs.get('title'),
      ]).toEqual([6, 30, 3, 'labelled'])
    }
    await expect(ds.write({ store, path: 'z.zarr' }, { immutable: true })).rejects.toThrow('`immutable` is for containers')
  })
})

describe('writing is refused', () => {
  const refused = async (store: Store, text: string, path = 'x.af', options = {}): Promise<void> => {
    const before = await store.list!('')
    await expect(writeImmutable(await small(), { store, path }, options)).rejects.toThrow(text)
    expect(await store.list!('')).toEqual(before)
  }
  const withObject = async (key: string): Promise<Store> => {
    const store = new MemoryStore()
    await store.put(key, new Uint8Array(1))
    return store
  }

  test('where a file exists, unless it is to be replaced', async () => {
    const store = new MemoryStore()
    await writeImmutable(await small(), { store, path: 'x.af' })
    await refused(store, 'the file exists already')
    await writeImmutable({ y: filled('int16', [1], 1) }, { store, path: 'x.af' }, { overwrite: true })
    expect((await open({ store, path: 'x.af' })).arrays()).toEqual(['y'])
  })

  test.each(['x.1.af', 'x.stats'])('where %s of an older container lies beside it, also with overwrite', async (key) => {
    for (const overwrite of [false, true]) await refused(await withObject(key), `lie beside it (${key})`, 'x.af', { overwrite })
  })

  test('under the name of a layer', async () => {
    await refused(new MemoryStore(), 'that of a sidecar', 'x.7.af')
  })

  test('of pending changes, and with chunks for stored arrays', async () => {
    const file = await small()
    const place = { store: new MemoryStore(), path: 'x.af' }
    await expect(writeImmutable(file, place, { chunks: { dim_0: 1 } })).rejects.toThrow('copied with the chunks that they have')
    await file.array('x').set([0], 9)
    await expect(writeImmutable(file, place)).rejects.toThrow('flush them first')
  })

  test('to a store that cannot be written', async () => {
    const { stat, getRange, describe } = new MemoryStore()
    const store = { stat, getRange, describe } as unknown as Store
    await expect(writeImmutable(await small(), { store, path: 'x.af' })).rejects.toThrow('cannot be written')
  })

  test('if another process writes the file meanwhile', async () => {
    const store = new MemoryStore()
    await writeImmutable(await small(), { store, path: 'x.af' })
    const late = {
      array: filled('int16', [1], 1, {
        readBlock: async (_: unknown, out: { data: Int16Array }) => {
          await writeImmutable({ theirs: filled('int16', [1], 2) }, { store, path: 'x.af' }, { overwrite: true })
          out.data.fill(1)
        },
      }),
    }
    await expect(writeImmutable({ late }, { store, path: 'x.af' }, { overwrite: true })).rejects.toThrow(
      'another process has replaced',
    )
    expect((await open({ store, path: 'x.af' })).arrays()).toEqual(['theirs'])
  })
})

describe('whatever fails', () => {
  const states = async (store: Store): Promise<string> => {
    if ((await store.stat('x.af')) === undefined) return 'none'
    const file = await open({ store, path: 'x.af' })
    expect((await file.verify({ deep: true })).findings).toEqual([])
    return `${await file.array('x').sum()}`
  }

  test.each(['error', 'lost', 'late', 'crash'] as const)('there is the old file or the new one (%s)', async (how) => {
    for (const source of ['container', 'arrays'] as const) {
      for (const overwrite of [false, true]) {
        const seen = new Set<string>()
        for (let at = 0, done = false; !done; at++) {
          const inner = new MemoryStore()
          if (overwrite) await writeImmutable({ x: filled('int16', [2], 50) }, { store: inner, path: 'x.af' })
          const store = new FaultStore(inner)
          store.faultAfter(at, how)
          const given = source === 'container' ? await small() : { x: filled('int16', [3], 2) }
          const outcome = await writeImmutable(given, { store, path: 'x.af' }, { overwrite }).then(
            () => 'written',
            () => 'failed',
          )
          await store.runLate()
          const state = await states(inner)
          seen.add(`${outcome} ${state}`)
          if (outcome === 'written') expect(state).toBe('6')
          expect(['none', '100', '6']).toContain(state)
          done = !store.log.some((line) => line.includes(': '))
        }
        expect([...seen]).toContain('written 6')
      }
    }
  })
})

describe('a file of version 6 that replaces the base of a container', () => {
  /** A container with a change pending, in a store where such a file comes right before an operation. */
  async function replacedBefore(kind: string, key: string) {
    const store = new MemoryStore()
    const { file: immutable } = await (async () => {
      await writeImmutable({ y: filled('int16', [1], 7) }, { store, path: 'y.af' })
      return { file: (await readWhole(store, 'y.af'))!.bytes }
    })()
    const before = await createWithBase({ store, path: 'x.af' })
    await before.createArray('x', { dtype: 'int16', shape: [2] }).set(null, [1, 2])
    await before.flush()
    let replaced = false
    /** After so many operations that follow the replacement, the writer is killed: right after the last. */
    const control = { killAfter: Number.POSITIVE_INFINITY, killed: false }
    const faulty = new FaultStore(store, {
      faults: async (operation) => {
        if (!replaced) {
          if (operation.kind !== kind || operation.key !== key) return undefined
          replaced = true
          await store.put('x.af', immutable)
        }
        if (control.killAfter-- > 0) return undefined
        control.killed = true
        return { kind: 'crash', done: ['put', 'publish', 'delete'].includes(operation.kind) }
      },
    })
    const file = await open({ store: faulty, path: 'x.af' })
    return { store, file, immutable, isReplaced: () => replaced, control }
  }

  const isAlone = async (store: MemoryStore, immutable: Uint8Array): Promise<void> => {
    expect((await readWhole(store, 'x.af'))!.bytes).toEqual(immutable)
  }

  test('a running flush throws a ConflictError and takes back its layer', async () => {
    const { store, file, immutable, isReplaced } = await replacedBefore('publish', 'x.2.af')
    await file.array('x').set([0], 9)
    await expect(file.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
    expect(isReplaced()).toBe(true)
    await isAlone(store, immutable)
    // Layers that were there before stay where they are.
    expect((await store.list('x.')).sort()).toEqual(['x.1.af', 'x.af'])
    // The array is gone, and its changes are kept for the caller to read.
    await expect(file.refresh()).rejects.toMatchObject({ tag: 'ConflictError' })
  })

  test('is not replaced by a compaction under way, which takes back the layer that closes the base', async () => {
    for (const [kind, key] of [
      ['publish', 'x.af'],
      ['publish', 'x.2.af'],
      ['list', 'x.'],
    ] as const) {
      const { store, file, immutable, isReplaced } = await replacedBefore(kind, key)
      await expect(file.compact(), `${kind} ${key}`).rejects.toThrow('files of footer version 6 are never changed')
      expect(isReplaced()).toBe(true)
      await isAlone(store, immutable)
      expect((await store.list('x.')).filter((name) => name.endsWith('.af')).sort()).toEqual(['x.1.af', 'x.af'])
    }
  })

  test('is what opens, wherever the writer of a layer is killed meanwhile; warnings and verify name what it leaves', async () => {
    let [killed, left] = [true, 0]
    for (let operations = 0; killed; operations++) {
      const { store, file, immutable, control } = await replacedBefore('publish', 'x.2.af')
      await file.array('x').set([0], 9)
      control.killAfter = operations
      const error: unknown = await file.flush().catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(Error)
      killed = control.killed
      await isAlone(store, immutable)
      const beside = (await store.list('x.')).filter((name) => name !== 'x.af' && name.endsWith('.af')).sort()
      left += Number(beside.includes('x.2.af'))
      const after = await open({ store, path: 'x.af' })
      expect([after.arrays(), (await after.array('y', 'int16', 1).get()).data[0]]).toEqual([['y'], 7])
      const named = beside.map((name) => expect.stringContaining(`${name}: has the name of a sidecar`) as unknown)
      expect(after.warnings()).toEqual(named)
      const { findings } = await verify({ store, path: 'x.af' })
      expect(findings.map(({ file }) => file.replace('memory:', '')).sort()).toEqual(beside)
      await expect(after.compact()).rejects.toMatchObject({ tag: 'ReadOnlyError' })
      const over = writeImmutable({ z: filled('int16', [1], 8) }, { store, path: 'x.af' }, { overwrite: true })
      await expect(over).rejects.toThrow(beside[0]!)
      expect((await store.list('x.')).filter((name) => name !== 'x.af' && name.endsWith('.af')).sort()).toEqual(beside)
    }
    expect(left).toBeGreaterThan(0)
  })
})
