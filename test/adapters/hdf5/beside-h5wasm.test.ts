import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { startPython } from './support.ts'

const started = startPython('beside_h5wasm.py')
const python = 'python' in started ? started.python : undefined
if ('failure' in started) console.warn(`SKIPPED: values of h5py need it: ${started.failure}`)

/** All are exact in 16 bits, too. */
const FLOATS = [0, 1, -1.5, 0.25, 1000, -1.5 * 2 ** 127, 7.5, 1.0078125]
const INTEGERS = [0, 1, -1, 4095, -4096, 1234, -77, 2000]

/**
 * Arrays by their names, with the values that h5py and this package read. h5wasm 0.10.3 returns other numbers
 * for floats of an n-bit filter and for integers with an offset, and bytes for bit fields.
 */
const CASES: Readonly<Record<string, readonly [dtype: string, values: readonly number[]]>> = {
  nbit_bfloat16: ['float32', FLOATS],
  nbit_24_bits: ['float32', FLOATS],
  offset_little: ['int32', INTEGERS],
  offset_big: ['int32', INTEGERS],
  offset_nbit_little: ['int32', INTEGERS],
  offset_nbit_big: ['int32', INTEGERS],
  bits_8: ['uint8', [0, 1, 255, 128, 7, 200, 64, 3]],
  bits_16_big: ['uint16', [1, 0xff80, 0x07c8, 0x4003]],
  bits_32: ['uint32', [0x80ff0100, 0x0340c807]],
  never_contiguous: ['int16', new Array<number>(8).fill(-7)],
  never_chunked: ['int16', new Array<number>(8).fill(-7)],
  never_zeros: ['float64', new Array<number>(8).fill(0)],
}

describe.skipIf(python === undefined)('beside h5wasm', () => {
  let folder: string
  let read: Readonly<Record<string, readonly number[]>>
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-h5wasm-'))
    read = (await python!.ask({ file: join(folder, 'x.h5') })) as typeof read
  }, 300_000)
  afterAll(async () => {
    python?.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('all arrays of the file are compared', async () => {
    await using root = await openHdf5(join(folder, 'x.h5'))
    expect((await root.arrays()).sort()).toEqual(Object.keys(CASES).sort())
    expect(Object.keys(read).sort()).toEqual(Object.keys(CASES).sort())
  })

  test.each(Object.entries(CASES))('%s has the values of h5py', async (name, [dtype, values]) => {
    await using root = await openHdf5(join(folder, 'x.h5'))
    const array = await root.array(name)
    expect(array.dtype).toBe(dtype)
    const { data } = (await array.get()) as unknown as { data: ArrayLike<number> }
    expect(Array.from(data)).toEqual(read[name])
    expect(Array.from(data)).toEqual(values)
  })
})
