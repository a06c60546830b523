import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FileArray } from '../../src/af/file-array.ts'
import { type DType, isFloat, toBytes } from '../../src/core/dtype.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import type { Signal } from '../../src/core/signal.ts'
import { type ArrayFile, create, MemoryStore, open, verify } from '../../src/runtime/index.ts'
import type { Store } from '../../src/runtime/store.ts'

/** Files by crate 0.15 of array-format; test/fixtures/af6/README.md says what is in them. */
const FOLDER = fileURLToPath(new URL('../fixtures/af6/', import.meta.url))

interface Bits {
  readonly bits: string
  readonly text: string
}
type Value = string | number | boolean | Bits | readonly Value[]

interface ExpectedArray {
  readonly name: string
  readonly dtype: string
  readonly shape: readonly number[]
  readonly chunk_shape: readonly number[]
  readonly dimension_names: readonly string[]
  readonly chunk_count: number
  readonly fill_value: { readonly type: string; readonly value: Value } | null
  readonly attributes: readonly { readonly key: string; readonly type: string; readonly value: Value }[]
  readonly stats: {
    readonly min: { readonly type: string; readonly value: Value } | null
    readonly max: { readonly type: string; readonly value: Value } | null
    readonly null_count: string
    readonly row_count: string
  }
  readonly values: { readonly count: number; readonly crc32: string; readonly first: readonly Value[] }
}

interface ExpectedFile {
  readonly array_count: number
  readonly keys: readonly string[]
  readonly arrays: readonly ExpectedArray[]
}

const EXPECTED: Record<string, ExpectedFile> = JSON.parse(readFileSync(`${FOLDER}expected.json`, 'utf8'))
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.af'))

const DTYPES: Record<string, DType> = {
  ...Object.fromEntries(
    [
      'Bool',
      'Int8',
      'Int16',
      'Int32',
      'Int64',
      'UInt8',
      'UInt16',
      'UInt32',
      'UInt64',
      'Float32',
      'Float64',
      'String',
      'Binary',
    ].map((name) => [name, name.toLowerCase() as DType]),
  ),
  TimestampNs: 'timestamp_ns',
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** An element as the expected values have it; floats by their text. */
function shown(value: unknown): unknown {
  if (value instanceof Uint8Array) return hexOf(value)
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return value
}

/** An expected value in the same form. */
function wanted(value: Value): unknown {
  if (typeof value === 'object') return Array.isArray(value) ? value.map(wanted) : String(floatOf((value as Bits).bits))
  return typeof value === 'number' ? String(value) : value
}

function floatOf(bits: string): number {
  const bytes = Buffer.from(bits, 'hex')
  return bytes.length === 4 ? bytes.readFloatBE() : bytes.readDoubleBE()
}

/** Bytes of all elements as the checksums are made of: variable ones behind their length. */
function bytesOf(data: ArrayLike<unknown>): Uint8Array {
  if (ArrayBuffer.isView(data)) return toBytes(data as never)
  const parts = Array.from(data, (value) => (typeof value === 'string' ? Buffer.from(value) : (value as Uint8Array)))
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4)
      length.writeUInt32LE(part.length)
      return [length, part]
    }),
  )
}

const normal = (text: unknown): unknown => (text === 'NaN' || text === '-NaN' ? 'NaN' : text === '-0' ? '0' : text)

async function checkArray(file: ArrayFile, expected: ExpectedArray): Promise<void> {
  const array = file.array(expected.name) as FileArray
  const { name } = expected
  expect([array.dtype, array.shape, array.dimensionNames, array.chunks.chunkShape], name).toEqual([
    DTYPES[expected.dtype],
    expected.shape,
    expected.dimension_names,
    expected.chunk_shape,
  ])
  const all = await array.get()
  const data = typeof all === 'object' && 'data' in (all as object) ? (all as { data: ArrayLike<unknown> }).data : undefined
  if (data === undefined)
    expect([normal(shown(typeof all === 'boolean' ? Number(all) : all))], name).toEqual(
      expected.values.first.map(wanted).map(normal),
    )
  else {
    expect(data.length, name).toBe(expected.values.count)
    if (hasTextFill(expected)) return checkTextFill(data, expected)
    expect(Array.from(data).slice(0, 64).map(shown).map(normal), name).toEqual(expected.values.first.map(wanted).map(normal))
    expect(crc32(bytesOf(data)).toString(16).padStart(8, '0'), name).toBe(expected.values.crc32)
  }
  expect([...array.attrs.keys()].sort(byBytes), name).toEqual(expected.attributes.map(({ key }) => key))
  for (const { key, value } of expected.attributes) {
    const own = array.attrs.get(key)
    const isList = (Array.isArray(own) || ArrayBuffer.isView(own)) && !(own instanceof Uint8Array && typeof value === 'string')
    expect(isList ? Array.from(own as ArrayLike<unknown>, shown).map(normal) : normal(shown(own)), `${name}.${key}`).toEqual(
      Array.isArray(value) ? value.map(wanted).map(normal) : normal(wanted(value)),
    )
  }
  await checkStatistics(file, expected)
}

/**
 * The crate reads texts that nothing wrote as empty, whatever the fill value
 * (test/interop/divergences.test.ts).
 */
const hasTextFill = ({ dtype, fill_value }: ExpectedArray): boolean => dtype === 'String' && fill_value?.type === 'String'

function checkTextFill(data: ArrayLike<unknown>, { values, fill_value }: ExpectedArray): void {
  const last = values.count - 1
  expect(Array.from(data).slice(0, last)).toEqual(values.first.slice(0, last))
  expect([data[last], values.first[last]]).toEqual([fill_value!.value, ''])
}

/** Bounds that are NaN hide others, so that these are computed. */
async function checkStatistics(file: ArrayFile, { name, dtype, stats }: ExpectedArray): Promise<void> {
  const { min, max, nullCount, rowCount } = await file.stats(name)
  expect([String(nullCount), String(rowCount)], name).toEqual([stats.null_count, stats.row_count])
  const bounds = [stats.min, stats.max].map((bound) => (bound === null ? undefined : wanted(bound.value)))
  if (bounds.includes('NaN')) {
    for (const bound of [min, max]) expect(Number.isNaN(bound), name).toBe(false)
    return
  }
  const own = [min, max].map((bound) => (dtype === 'String' && bound !== undefined ? hexOf(Buffer.from(bound as string)) : bound))
  expect(
    own.map((bound) => (bound === undefined ? undefined : normal(shown(bound)))),
    name,
  ).toEqual(bounds.map(normal))
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

describe('files of footer version 6', () => {
  test.each(FILES)('%s reads as the crate reads it', async (name) => {
    const expected = EXPECTED[name]!
    await using file = await open(FOLDER + name)
    const own = file.array.bind(file)
    expect(file.arrays().length + (file.attrs.size > 0 || hasFileArray(own) ? 1 : 0)).toBe(expected.array_count)
    expect(file.warnings()).toEqual([])
    for (const array of expected.arrays) await checkArray(file, array)
    expect(file.layers().map(({ version }) => version)).toEqual([6])
    expect((await file.verify({ deep: true })).findings.filter(({ severity }) => severity === 'error')).toEqual([])
  })

  const hasFileArray = (array: ArrayFile['array']): boolean => {
    try {
      return array('__file__') !== undefined
    } catch {
      return false
    }
  }

  test('are read-only, and the error says how to edit one', async () => {
    await using file = await open(`${FOLDER}basic.af`)
    const array = file.array('temperature', 'float32')
    const attempts = [
      () => array.set([0], 5),
      () => array.fill(1),
      () => array.attrs.set('units', 'K'),
      () => file.createArray('x', { dtype: 'int8', shape: [1] }),
      () => file.delete('temperature'),
      () => file.attrs.set('title', 'x'),
      () => file.compact(),
      () => array.append(0, [1]),
    ]
    for (const attempt of attempts) {
      const error = await (async () => attempt())().catch((error: unknown) => error)
      expect(isHyperslabError(error, 'ReadOnlyError'), String(attempt)).toBe(true)
      expect((error as Error).message).toContain('hyperslab import')
    }
    expect(file.changed).toBe(false)
    await file.flush()
  })

  test('answer extremes without a read where their statistics are exact, and read otherwise', async () => {
    let answered = 0
    for (const name of ['stats.af', 'fills.af', 'dtypes_lz4.af', 'layouts.af', 'zero.af']) {
      await using file = await open(FOLDER + name)
      for (const each of file.arrays()) {
        const array = file.array(each) as FileArray
        if (array.dtype === 'string' || array.dtype === 'binary') continue
        for (const op of ['min', 'max'] as const)
          for (const skipMissing of [true, false]) {
            const outcome = async (ignoreStats: boolean): Promise<unknown> => {
              try {
                return await array[op]({ skipMissing, ignoreStats })
              } catch (error) {
                return (error as Error).message
              }
            }
            const before = file.readCost.blocks
            const fast = await outcome(false)
            const reads = file.readCost.blocks - before
            expect(fast, `${name} ${each} ${op} ${skipMissing}`).toEqual(await outcome(true))
            if (reads === 0 && array.size > 0) answered++
          }
      }
    }
    expect(answered).toBeGreaterThan(300)
  })

  test('are read where statistics of other writers are no answer, and verify names these', async () => {
    const whole = readFileSync(`${FOLDER}basic.af`)
    // In this file, the statistics of the float64 array 'temperature' of values 1 to 4 begin behind these
    // bytes.
    const [minTag, minValue, maxTag, maxValue, nulls] = [318, 334, 350, 366, 382]
    const changes: Record<string, (bytes: Buffer) => void> = {
      'no minimum': (bytes) => bytes.writeUInt8(0, minTag),
      'no maximum': (bytes) => bytes.writeUInt8(0, maxTag),
      'no bounds': (bytes) => bytes.writeUInt8(0, minTag) + bytes.writeUInt8(0, maxTag),
      'the bounds exchanged': (bytes) => bytes.writeDoubleLE(4, minValue) + bytes.writeDoubleLE(1, maxValue),
      'a bound that no element has': (bytes) => bytes.writeDoubleLE(-1e300, minValue),
      'bounds, and all elements null': (bytes) => bytes.writeBigUInt64LE(4n, nulls),
    }
    for (const [name, change] of Object.entries(changes)) {
      const bytes = Buffer.from(whole)
      change(bytes)
      const place = { store: new MemoryStore(), path: 'basic.af' }
      await place.store.put('basic.af', bytes)
      await using file = await open(place)
      const array = file.array('temperature')
      expect([await array.min(), await array.max()], name).toEqual([1, 4])
      expect(await file.stats('temperature'), name).toMatchObject({ min: 1, max: 4 })
      const { ok, findings } = await verify(place, { deep: true })
      expect([ok, findings.map(({ text }) => text).join()], name).toEqual([false, expect.stringContaining('the statistics say')])
    }
  })

  test('index an attribute over all arrays', async () => {
    await using file = await open(`${FOLDER}many.af`)
    const index = file.attributeIndex('units')
    const slow = new Map(
      file.arrays().flatMap((name) => {
        const units = file.array(name).attrs.get('units')
        return units === undefined ? [] : [[name, units] as const]
      }),
    )
    expect(slow.size).toBeGreaterThan(0)
    expect([...index]).toEqual([...slow])
    expect([index.size, [...index.keys()], [...index.values()]]).toEqual([slow.size, [...slow.keys()], [...slow.values()]])
    for (const name of [...file.arrays(), 'no such array'])
      expect([index.has(name), index.get(name)], name).toEqual([slow.has(name), slow.get(name)])
    const visited: unknown[] = []
    index.forEach((value, name, map) => {
      visited.push([name, value, map === index])
    })
    expect(visited).toEqual(Array.from(slow, ([name, value]) => [name, value, true]))
    expect(file.attributeIndex('no such key').size).toBe(0)
  })

  test('index attributes of a container with layers and pending changes as they are read one by one', async () => {
    const place = { store: new MemoryStore(), path: 'x.af' }
    await using file = await create(place)
    for (const name of ['a', 'b', 'c', 'd']) file.createArray(name, { dtype: 'int8', shape: [1] }).attrs.set('units', `${name} 1`)
    file.array('a').attrs.set('title', 'a 1')
    await file.flush()
    file.array('b').attrs.set('units', 'b 2')
    file.array('c').attrs.delete('units')
    await file.flush()
    await using read = await open(place)
    expect([...read.attributeIndex('units')]).toEqual([['a', 'a 1'], ['b', 'b 2'], ['d', 'd 1']]) // biome-ignore format: one line
    read.array('d').attrs.set('units', 'd 3')
    expect([...read.attributeIndex('units')]).toEqual([['a', 'a 1'], ['b', 'b 2'], ['d', 'd 3']]) // biome-ignore format: one line
    expect(read.array('a').attrs.get('title')).toBe('a 1')
  })
})

describe('damaged and hostile files of footer version 6', () => {
  interface Verdict {
    readonly verdict: 'accept' | 'either' | 'refuse' | 'refuse@read' | 'refuse|nostats'
    readonly names: readonly string[]
  }
  const verdicts: Record<string, Verdict> = JSON.parse(readFileSync(`${FOLDER}hostile/expected.json`, 'utf8'))
  /**
   * An unknown codec is refused when a block of it is read, as in all versions: it may be one of the
   * caller's.
   */
  const READ_LATER = ['codec_unknown.af']

  test.each(Object.entries(verdicts))('%s meets its verdict', async (name, { verdict, names }) => {
    const { opening, reading } = await outcomeOf(`${FOLDER}hostile/${name}`)
    const error = opening ?? reading
    expect(error === undefined || isHyperslabError(error)).toBe(true)
    if (verdict === 'accept') expect(error).toBeUndefined()
    if (verdict === 'refuse' && !READ_LATER.includes(name)) expect(opening).toBeDefined()
    if (verdict === 'refuse@read' || READ_LATER.includes(name)) expect(error).toBeDefined()
    if (error === undefined) return
    // A size beyond 2^53 is found by the decoder of the footer, which names the byte.
    if (name === 'zstd_size_max.af') expect(String(error)).toContain('18446744073709551615')
    else for (const each of names) expect(String(error)).toContain(each)
  })

  async function outcomeOf(path: string): Promise<{ opening?: unknown; reading?: unknown }> {
    let file: ArrayFile
    try {
      file = await open(path)
    } catch (opening) {
      return { opening }
    }
    try {
      for (const name of file.arrays()) await file.array(name).get()
      return {}
    } catch (reading) {
      return { reading }
    } finally {
      await file.close()
    }
  }

  test('an unknown version names the numbers at both positions', async () => {
    const message = await open(`${FOLDER}hostile/version_7.af`).catch((error: Error) => error.message)
    expect(message).toContain('footer version 7 or 0, expected 4, 5 or 6')
  })

  test('random damage to a footer is an error of ours, or a file that reads', async () => {
    const bytes = new Uint8Array(readFileSync(`${FOLDER}hostile/ok.af`))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 3 }),
        async (changes) => {
          const damaged = bytes.slice()
          for (const [at, value] of changes) damaged[at] = value
          const store = new MemoryStore()
          await store.put('x.af', damaged)
          try {
            await using file = await open({ store, path: 'x.af' })
            for (const name of file.arrays()) await file.array(name).get()
            expect(file.layers().length).toBe(1)
          } catch (error) {
            expect(isHyperslabError(error), String(error)).toBe(true)
          }
        },
      ),
      { numRuns: 2000 },
    )
  }, 60_000)
})

describe('files that have the names of sidecars', () => {
  const basic = new Uint8Array(readFileSync(`${FOLDER}basic.af`))

  async function container(): Promise<MemoryStore> {
    const store = new MemoryStore()
    await using file = await create({ store, path: 'x.af' })
    await file.createArray('a', { dtype: 'int32', shape: [2] }).set(null, [1, 2])
    await file.flush()
    return store
  }

  test('beside a file of version 6 are named, and not read', async () => {
    const store = await container()
    await using layered = await open({ store, path: 'x.af' })
    await layered.array('a').set([0], 7)
    await layered.flush()
    await store.put('x.af', basic)
    await using file = await open({ store, path: 'x.af' })
    expect(file.arrays()).toEqual(['temperature'])
    expect(file.layers()).toHaveLength(1)
    expect(file.warnings()).toEqual([expect.stringContaining('x.1.af')])
    const { findings } = await file.verify()
    expect(findings.map(({ file, severity }) => [file, severity])).toEqual([
      ['memory:x.1.af', 'warning'],
      ['memory:x.stats', 'warning'],
    ])
  })

  test('of version 6 beside a container are no layers, open by themselves, and stop writers', async () => {
    const store = await container()
    await store.put('x.1.af', basic)
    await using file = await open({ store, path: 'x.af' })
    expect(Array.from((await file.array('a', 'int32').get()).data)).toEqual([1, 2])
    expect(file.warnings()).toEqual([expect.stringContaining('x.1.af')])
    const error = await file
      .array('a')
      .set([0], 7)
      .catch((error: unknown) => error)
    expect(isHyperslabError(error, 'ReadOnlyError')).toBe(true)
    await using alone = await open({ store, path: 'x.1.af' })
    expect(alone.arrays()).toEqual(['temperature'])
    const refused = await create({ store, path: 'x.af' }, { overwrite: true }).catch((error: unknown) => error)
    expect(isHyperslabError(refused, 'AlreadyExistsError')).toBe(true)
    expect((await store.get('x.1.af'))?.bytes).toEqual(basic)
  })
})

describe('a file of version 6 that is named like a sidecar', () => {
  const basic = new Uint8Array(readFileSync(`${FOLDER}basic.af`))

  /** A container of a base and as many layers. */
  async function layered(layers: number): Promise<MemoryStore> {
    const store = new MemoryStore()
    await using file = await create({ store, path: 'x.af' })
    const array = file.createArray('a', { dtype: 'int32', shape: [2] })
    for (let i = 0; i <= layers; i++) {
      await array.fill(i)
      await file.flush()
    }
    return store
  }

  const unlisted = (store: MemoryStore): Store => ({
    describe: (key) => store.describe(key),
    stat: (key) => store.stat(key),
    getRange: (key, ...rest) => store.getRange(key, ...rest),
  })

  test.each(['listed', 'unlisted'])('in place of a layer below others is an error that names it (%s)', async (kind) => {
    const store = await layered(3)
    await store.put('x.1.af', basic)
    const place = { store: kind === 'listed' ? store : unlisted(store), path: 'x.af' }
    const error = await open(place).catch((error: unknown) => error)
    expect(isHyperslabError(error, 'FormatError'), String(error)).toBe(true)
    expect(String(error)).toContain('layer 1 is lost: memory:x.1.af, a file of footer version 6')
    const { ok, findings } = await verify(place)
    expect([ok, findings.filter(({ severity }) => severity === 'error').map(({ file }) => file)]).toEqual([
      false,
      ['memory:x.1.af'],
    ])
    await using below = await open(place, { layer: 0 })
    expect([...(await below.array('a', 'int32').get()).data]).toEqual([0, 0])
  })

  test.each(['listed', 'unlisted'])('counts towards no limit of layers or of footers (%s)', async (kind) => {
    const store = await layered(1)
    const many = new Uint8Array(readFileSync(`${FOLDER}many.af`))
    for (const number of [2, 3, 4, 5, 20240101, 20240102]) await store.put(`x.${number}.af`, number === 3 ? many : basic)
    const place = { store: kind === 'listed' ? store : unlisted(store), path: 'x.af' }
    const limits = { layers: 3, footerBytes: 4000 }
    await using file = await open(place, { limits })
    expect([...(await file.array('a', 'int32').get()).data]).toEqual([1, 1])
    expect(file.layers().length).toBe(2)
    expect(file.warnings().length).toBe(kind === 'listed' ? 6 : 3)
    await file.refresh()
    expect(file.layers().length).toBe(2)
    const { findings } = await verify(place, { limits: { layers: 6 } })
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
    // A layer counts, whatever lies beside it.
    await store.put('x.20240103.af', (await store.get('x.1.af'))!.bytes)
    if (kind === 'listed') await expect(open(place, { limits })).rejects.toMatchObject({ tag: 'TooLargeError' })
  })

  test('takes no notice of other files with such names when it is refreshed', async () => {
    const store = new MemoryStore()
    await store.put('x.af', basic)
    await store.put('x.1.af', new TextEncoder().encode('no container at all'))
    for (const view of [store, unlisted(store)]) {
      await using file = await open({ store: view, path: 'x.af' })
      await file.refresh()
      expect(file.arrays()).toEqual(['temperature'])
      await store.put('x.af', new Uint8Array(readFileSync(`${FOLDER}many.af`)))
      await file.refresh()
      expect(file.arrays().length).toBeGreaterThan(1)
      await store.put('x.af', basic)
    }
  })

  test('does not wait for the first sidecar, nor leave the request for it under way', async () => {
    const store = new MemoryStore()
    await store.put('x.af', basic)
    const signals: Signal[] = []
    const slow: Store = {
      ...unlisted(store),
      stat: async (key, options) => {
        if (key === 'x.af') return store.stat(key)
        signals.push(options!.signal!)
        return new Promise((_, reject) => options!.signal!.addEventListener('abort', () => reject(options!.signal!.reason)))
      },
    }
    await using file = await open({ store: slow, path: 'x.af' })
    expect(file.arrays()).toEqual(['temperature'])
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    await store.delete('x.af')
    await expect(open({ store: slow, path: 'x.af' })).rejects.toMatchObject({ tag: 'NotFoundError' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })
})

test('every float type is among the files', () => {
  const kinds = new Set(Object.values(EXPECTED).flatMap(({ arrays }) => arrays.map(({ dtype }) => DTYPES[dtype]!)))
  expect([...kinds].filter(isFloat).sort()).toEqual(['float32', 'float64'])
})
