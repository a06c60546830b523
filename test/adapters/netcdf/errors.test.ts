import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type ErrorTag, HyperslabError } from '../../../src/core/errors.ts'
import { createPool } from '../../../src/runtime/index.ts'
import { type AsyncBuffer, openNetcdf } from '../../../src/runtime/netcdf.ts'
import { utf8, type WriterFile, writeNetcdf } from '../../support/netcdf-writer.ts'
import { CountingFile, variable } from './support.ts'

const SAMPLE: WriterFile = {
  dimensions: [
    ['time', 0],
    ['x', 4],
  ],
  records: 2,
  attributes: [{ name: 'title', type: 'char', value: 'sample' }],
  variables: [
    { name: 'fixed', type: 'int', dimensions: ['x'], values: [1, 2, 3, 4] },
    { name: 'grows', type: 'short', dimensions: ['time', 'x'], values: [1, 2, 3, 4, 5, 6, 7, 8] },
  ],
}

async function caught(tag: ErrorTag, work: () => Promise<unknown>): Promise<HyperslabError> {
  const error = await work().then(
    () => expect.fail(`expected a ${tag}`),
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(HyperslabError)
  expect((error as HyperslabError).tag, (error as HyperslabError).message).toBe(tag)
  return error as HyperslabError
}

const failing = (tag: ErrorTag, bytes: Uint8Array | number[]): Promise<HyperslabError> =>
  caught(tag, () => openNetcdf(new CountingFile(Uint8Array.from(bytes)), { name: 'bad.nc' }))

/** The sample with one big-endian word changed: the `occurrence`th that equals `from`. */
function withWord(from: number, to: number, occurrence = 0, file = SAMPLE): Uint8Array {
  const bytes = writeNetcdf(file)
  const view = new DataView(bytes.buffer)
  const places = [...bytes.keys()].filter((at) => at % 4 === 0 && view.getUint32(at) === from)
  view.setUint32(places[occurrence]!, to)
  return bytes
}

describe('what is not a classic file', () => {
  test('something else: its first bytes are shown', async () => {
    const error = await failing('FormatError', [0x50, 0x4b, 3, 4, 0x20, 0x41, 0x7f, 0xff, 9])
    expect(error.message).toBe('bad.nc: not a NetCDF file: it starts with 50 4b 03 04 20 41 7f ff ("PK.. A..")')
    expect(error.details.file).toBe('bad.nc')
  })

  test('nothing', async () => {
    expect((await failing('FormatError', [])).message).toBe('bad.nc: not a NetCDF file: it is empty')
  })

  test('another version', async () => {
    expect((await failing('FormatError', [...utf8('CDF'), 3, 0, 0, 0, 0])).message).toContain('CDF is followed by 3')
  })

  test('NetCDF-4 is named', async () => {
    expect((await failing('UnsupportedError', [0x89, ...utf8('HDF\r\n\x1a\n'), 0, 0])).message).toContain(
      'NetCDF-4 file, which is HDF5',
    )
  })

  test('the file has a name of its own when it is given none', async () => {
    const error = await caught('FormatError', () => openNetcdf(new CountingFile(Uint8Array.of(1))))
    expect(error.message).toBe('NetCDF file: not a NetCDF file: it starts with 01 (".")')
  })

  test.each([undefined, Number.NaN, -1, '7'])('a byteLength of %s', async (byteLength) => {
    const file = { byteLength, slice: () => new Uint8Array(0) } as unknown as AsyncBuffer
    await caught('InvalidArgumentError', () => openNetcdf(file))
  })
})

describe('headers', () => {
  test('truncated anywhere', async () => {
    const bytes = writeNetcdf(SAMPLE)
    const headerBytes = bytes.length - 32
    for (let length = 1; length < headerBytes; length++) {
      const error = await failing('FormatError', bytes.subarray(0, length))
      if (length >= 3)
        expect(error.message).toBe(`bad.nc: the header is truncated: it does not end within the ${length} bytes of the file`)
    }
  })

  test('a list with another tag', async () => {
    const error = await failing('FormatError', withWord(11, 99))
    expect(error.message).toBe('bad.nc: the header is broken: a list of variables has the tag 99, not 11')
    expect(error.details).toMatchObject({ actual: 99, expected: 11 })
  })

  test.each(['variables', 'dimensions'] as const)('two %s of one name', async (list) => {
    const twice = { ...SAMPLE, [list]: [...SAMPLE[list]!, SAMPLE[list]![0]!] } as typeof SAMPLE
    const error = await failing('FormatError', writeNetcdf(twice))
    expect(error.message).toMatch(new RegExp(`^bad\\.nc: the header is broken: two ${list} have the name '`))
  })

  test('random damage yields an error of this package, or a readable file', async () => {
    const bytes = writeNetcdf(SAMPLE)
    for (let at = 0; at < bytes.length - 32; at++) {
      for (const value of [0, 1, 7, 0x7f, 0xff]) {
        const damaged = bytes.slice()
        damaged[at] = value
        const result = await openNetcdf(new CountingFile(damaged)).catch((error: unknown) => error)
        if (result instanceof Error) expect(result).toBeInstanceOf(HyperslabError)
      }
    }
  })

  test('an offset above 2^53', async () => {
    const begin = writeNetcdf({ ...SAMPLE, version: 2 }).length - 32
    const bytes = withWord(begin, begin, 0, { ...SAMPLE, version: 2 })
    const view = new DataView(bytes.buffer)
    view.setUint32([...bytes.keys()].find((at) => at % 4 === 0 && view.getUint32(at) === begin)! - 4, 2 ** 22)
    expect((await failing('FormatError', bytes)).message).toMatch(/array 'fixed': the header is broken: .* end above 2\^53/)
  })

  test('two record dimensions', async () => {
    const dimensions: [string, number][] = [
      ['time', 0],
      ['other', 0],
    ]
    expect((await failing('FormatError', writeNetcdf({ dimensions }))).message).toBe(
      'bad.nc: several record dimensions: time, other',
    )
  })

  test('a record dimension that is not the first', async () => {
    const variables = [{ name: 'v', type: 'int' as const, dimensions: ['x', 'time'], values: [] }]
    const error = await failing('FormatError', writeNetcdf({ ...SAMPLE, records: 0, variables }))
    expect(error.message).toBe("bad.nc: array 'v': the record dimension is axis 1, not the first")
  })

  test('a dimension that does not exist', async () => {
    const variables = [{ name: 'v', type: 'int' as const, dimensions: ['missing'], values: [1] }]
    expect((await failing('FormatError', writeNetcdf({ variables }))).message).toBe(
      "bad.nc: array 'v': axis 0 has dimension 4294967295 of 0",
    )
  })

  test('an unknown type', async () => {
    const bytes = writeNetcdf(SAMPLE)
    const view = new DataView(bytes.buffer)
    view.setUint32([...bytes.keys()].find((at) => at % 4 === 0 && view.getUint32(at) === 0xffffffff)! - 4, 7)
    expect((await failing('FormatError', bytes)).message).toBe("bad.nc: array 'fixed': its type is none of the six classic ones")
  })
})

describe('data', () => {
  const bytes = writeNetcdf(SAMPLE)

  test('truncated records, found when they are read', async () => {
    const file = await openNetcdf(new CountingFile(bytes.subarray(0, -1)), { name: 'bad.nc' })
    const grows = variable(file, 'grows')
    expect([await grows.get([0, 3]), await grows.get([1, 2])]).toEqual([4, 7])
    expect(await variable(file, 'fixed').get([3])).toBe(4)
    const error = await caught('FormatError', () => grows.get([1]))
    const [end, size] = [bytes.length, bytes.length - 1]
    expect(error.message).toBe(
      `bad.nc: array 'grows': the file is truncated: these elements end at byte ${end}, the file has ${size} bytes`,
    )
    expect(error.details).toMatchObject({ array: 'grows', actual: size, expected: end })
  })

  test('a truncated file on disk, read by worker threads', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hyperslab-truncated-'))
    const pool = createPool({ size: 1 })
    try {
      const path = join(folder, 'bad.nc')
      const values = Array.from({ length: 150_000 }, (_, i) => i)
      const dimensions = [
        ['t', 0],
        ['x', 150_000],
      ] as const
      const v = { name: 'v', type: 'double', dimensions: ['t', 'x'], values: [...values, ...values] } as const
      await writeFile(path, writeNetcdf({ dimensions, records: 2, variables: [v] }).subarray(0, -8))
      await using file = await openNetcdf(path, { pool })
      const array = variable(file, 'v')
      expect(await array.view([0]).sum()).toBe(11_249_925_000)
      for (const read of [() => array.get(), () => array.sum(), () => array.mean({ axis: 0 }), () => array.get([1, -1])])
        await caught('FormatError', read)
    } finally {
      await pool.close()
      await rm(folder, { recursive: true })
    }
  })

  test('a truncated fixed variable', async () => {
    const fixed = writeNetcdf({ ...SAMPLE, records: 0, variables: [SAMPLE.variables![0]!] })
    const file = await openNetcdf(new CountingFile(fixed.subarray(0, -4)), { name: 'bad.nc' })
    expect(await variable(file, 'fixed').get([2])).toBe(3)
    const error = await caught('FormatError', () => variable(file, 'fixed').get())
    expect(error.message).toContain(
      `array 'fixed': the file is truncated: these elements end at byte ${fixed.length}, the file has ${fixed.length - 4}`,
    )
  })

  test('dimensions whose product is beyond all numbers', async () => {
    const names = Array.from({ length: 40 }, () => 'x')
    const file: WriterFile = {
      dimensions: [['x', 0x7fffffff]],
      variables: [{ name: 'v', type: 'double', dimensions: names, values: [] }],
    }
    expect((await failing('FormatError', writeNetcdf(file))).message).toMatch(
      /array 'v': the header is broken: .* end above 2\^53/,
    )
  })

  test('data inside the header', async () => {
    const error = await failing('FormatError', withWord(bytes.length - 32, 8))
    expect(error.message).toBe(
      `bad.nc: array 'fixed': its data starts at byte 8, inside the header of ${bytes.length - 32} bytes`,
    )
  })

  test.each([-1, 1])('a slice with %i bytes too many', async (more) => {
    const counting = new CountingFile(bytes)
    const file = await openNetcdf(counting, { name: 'bad.nc' })
    counting.slice = async (start, end) => new Uint8Array(end - start + more)
    const error = await caught('FormatError', () => variable(file, 'fixed').get())
    const [start, end] = [bytes.length - 32, bytes.length - 16]
    expect(error.message).toBe(
      `bad.nc: array 'fixed': reading bytes ${start} to ${end} returned ${16 + more} bytes instead of 16`,
    )
    await caught('FormatError', () => openNetcdf(counting))
  })

  test('what slice throws comes through', async () => {
    const counting = new CountingFile(bytes)
    const file = await openNetcdf(counting)
    const reason = new Error('offline')
    counting.slice = () => Promise.reject(reason)
    await expect(variable(file, 'grows').get()).rejects.toBe(reason)
    await expect(openNetcdf(counting)).rejects.toBe(reason)
  })

  test('writing is refused', async () => {
    const file = await openNetcdf(new CountingFile(bytes), { name: 'bad.nc' })
    await caught('ReadOnlyError', () => variable(file, 'fixed').set(null, 1 as never))
  })
})

describe('aborts', () => {
  test('before opening, and between the pieces of the header', async () => {
    const long = writeNetcdf({ attributes: [{ name: 'a', type: 'byte', value: new Array(300_000).fill(1) }] })
    await expect(openNetcdf(new CountingFile(long), { signal: AbortSignal.abort('early') })).rejects.toBe('early')
    const controller = new AbortController()
    const counting = new CountingFile(long)
    const slice = counting.slice.bind(counting)
    counting.slice = (start, end) => {
      if (start > 0) controller.abort('enough')
      return slice(start, end)
    }
    await expect(openNetcdf(counting, { signal: controller.signal })).rejects.toBe('enough')
    expect(counting.slices).toHaveLength(2)
  })

  test('between the reads of a block', async () => {
    const values = new Array(400_000).fill(0)
    const counting = new CountingFile(
      writeNetcdf({ dimensions: [['x', 400_000]], variables: [{ name: 'v', type: 'byte', dimensions: ['x'], values }] }),
    )
    const { source } = (await openNetcdf(counting)).variables[0]!
    counting.slices = []
    const controller = new AbortController()
    const slice = counting.slice.bind(counting)
    counting.slice = async (start, end) => {
      if (counting.slices.length === 4) controller.abort('enough')
      return slice(start, end)
    }
    const box = [{ start: 0, stop: 400_000, step: 66_000 }]
    const out = { data: new Int8Array(7), shape: [7], stride: [1], offset: 0 }
    await expect(source.readBlock(box, out, { signal: controller.signal })).rejects.toBe('enough')
    expect(counting.slices).toHaveLength(5)
  })
})
