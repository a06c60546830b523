import { expect, test } from 'vitest'
import { chainCodec, outOfKernel, type Step } from '../../src/codec/chain.ts'
import { type Codec, inKernel, type KernelCodec } from '../../src/codec/codec.ts'
import { HyperslabError } from '../../src/core/errors.ts'
import { withArena } from '../../src/kernels/arena.ts'

/** Decoded sizes that the chain passed to steps. */
type Told = (number | undefined)[]

/** Drops the first byte. */
const inside = (name: string, told: Told, isSized = true): Step => ({
  name,
  ...(isSized && { encodedBytes: (bytes: number) => bytes + 1 }),
  decodeIn(_, pointer, length, decodedBytes) {
    told.push(decodedBytes)
    return { pointer: pointer + 1, length: length - 1 }
  },
})
/** Doubles each byte. */
const outside = (name: string, told: Told): Step => ({
  name,
  encodedBytes: (bytes) => bytes / 2,
  decode(bytes, decodedBytes) {
    told.push(decodedBytes)
    return Uint8Array.from({ length: 2 * bytes.length }, (_, i) => bytes[i >> 1]!)
  },
})
const absent = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7)

function decodeIn(codec: Codec | KernelCodec, stored: readonly number[], decodedBytes: number): number[] {
  if (!inKernel(codec)) throw new Error('it leaves kernel memory')
  return withArena((arena) => {
    const bytes = Uint8Array.from(stored)
    const pointer = codec.decodeIn(arena, arena.put(bytes), bytes.length, decodedBytes)
    return [...arena.bytes(pointer, decodedBytes)]
  })
}

async function decode(codec: Codec | KernelCodec, stored: readonly number[], decodedBytes: number): Promise<number[]> {
  if (inKernel(codec)) throw new Error('it stays in kernel memory')
  return [...(await codec.decode(Uint8Array.from(stored), decodedBytes))]
}

test('steps that work in kernel memory stay there, and know what they decode to', () => {
  const told: Told = []
  const codec = chainCodec('chain', [inside('a', told), inside('b', told)], absent, Infinity)
  expect(decodeIn(codec, [1, 2, 3, 4, 5], 3)).toEqual([3, 4, 5])
  expect(told).toEqual([4, 3])
  expect(() => decodeIn(codec, [1, 2, 3, 4], 3)).toThrow(/chain block decodes to 4 bytes instead of 5/)
})

test('without steps bytes are as they are stored', () => {
  const codec = chainCodec('chain', [], absent, Infinity)
  expect(decodeIn(codec, [1, 2], 2)).toEqual([1, 2])
  expect(() => decodeIn(codec, [1, 2], 3)).toThrow(HyperslabError)
})

test('a step outside kernel memory between others', async () => {
  const told: Told = []
  const steps = [inside('a', told), outside('b', told), inside('c', told), inside('d', told)]
  const codec = chainCodec('chain', steps, absent, Infinity)
  expect(await decode(codec, [1, 2, 3, 4], 4)).toEqual([3, 3, 4, 4])
  expect(told).toEqual([3, 6, 5, 4])
  told.length = 0
  expect(await decode(codec, [1, 2, 3, 4], Infinity)).toEqual([3, 3, 4, 4])
  expect(told).toEqual([undefined, undefined, undefined, undefined])
})

test('before a step that says nothing of its input sizes are not known, but for one that always takes the same', async () => {
  const told: Told = []
  const steps = [inside('a', told), inside('b', told, false), { ...outside('c', told), inputBytes: 2 }]
  expect(await decode(chainCodec('chain', steps, absent, Infinity), [1, 2, 3, 4], Infinity)).toEqual([3, 3, 4, 4])
  expect(told).toEqual([undefined, 2, undefined])
})

test('a step that decodes to another length is named', async () => {
  const short = (decoded: Partial<Step>): Step => ({ name: 'short', ...decoded })
  const kernel = chainCodec('chain', [short({ decodeIn: (_, pointer) => ({ pointer, length: 1 }) })], absent, Infinity)
  expect(() => decodeIn(kernel, [1, 2], 2)).toThrow(/short block decodes to 1 bytes instead of 2/)
  const other = chainCodec('chain', [short({ decode: () => new Uint8Array(1) })], absent, Infinity)
  await expect(decode(other, [1, 2], 2)).rejects.toThrow(/short block decodes to 1 bytes instead of 2/)
})

test('where sizes are not known, each step is told how much it may give, and none gives more', async () => {
  const told: number[] = []
  const growing = (isInside: boolean): Step =>
    ({
      name: isInside ? 'inside' : 'outside',
      ...(isInside
        ? {
            decodeIn(arena, _, length, __, mostBytes) {
              told.push(mostBytes)
              return { pointer: arena.alloc(2 * length), length: 2 * length }
            },
          }
        : {
            decode(bytes, _, mostBytes) {
              told.push(mostBytes)
              return new Uint8Array(2 * bytes.length)
            },
          }),
    }) as Step
  for (const steps of [
    [true, false],
    [false, true, true],
    [true, true],
  ]) {
    const chain = (most: number) => chainCodec('chain', [...steps.map(growing), outOfKernel], absent, most)
    const bytes = 3 * 2 ** steps.length
    expect(await decode(chain(bytes), [1, 2, 3], Infinity)).toHaveLength(bytes)
    expect(told.splice(0)).toEqual(steps.map(() => bytes))
    const last = steps.at(-1) ? 'inside' : 'outside'
    await expect(decode(chain(bytes - 1), [1, 2, 3], Infinity)).rejects.toMatchObject({
      tag: 'CodecError',
      message: `${last} block decodes to ${bytes} bytes, more than \`limits.blockBytes\`, ${bytes - 1}`,
    })
    told.length = 0
  }
})

test('what steps throw becomes a CodecError that names them; errors of the package stay', async () => {
  const failing = (error: Error): Partial<Step> => ({
    decodeIn: () => {
      throw error
    },
  })
  const cause = new Error('no')
  const codec = chainCodec('chain', [{ name: 'x', ...failing(cause) }], absent, Infinity)
  expect(() => decodeIn(codec, [1], 1)).toThrow(
    expect.objectContaining({ tag: 'CodecError', message: 'x does not decode: no', cause }),
  )
  const own = new HyperslabError('OutOfMemoryError', 'full')
  expect(() => decodeIn(chainCodec('chain', [{ name: 'x', ...failing(own) }], absent, Infinity), [1], 1)).toThrow(own)
  const rejecting = chainCodec('chain', [{ name: 'y', decode: () => Promise.reject(cause) }], absent, Infinity)
  await expect(decode(rejecting, [1], 1)).rejects.toMatchObject({ tag: 'CodecError', message: 'y does not decode: no' })
})

test('no bytes stand for what nobody wrote', async () => {
  expect(decodeIn(chainCodec('chain', [inside('a', [])], absent, Infinity), [], 3)).toEqual([7, 7, 7])
  const codec = chainCodec('chain', [outside('a', [])], (bytes) => absent(bytes || 2), Infinity)
  expect(await decode(codec, [], 4)).toEqual([7, 7, 7, 7])
  expect(await decode(codec, [], Infinity)).toEqual([7, 7])
})

test('every step is made ready', async () => {
  const ready: string[] = []
  const step = (name: string): Step => ({ ...inside(name, []), ready: async () => void ready.push(name) })
  await chainCodec('chain', [step('a'), inside('b', []), step('c')], absent, Infinity).ready()
  expect(ready).toEqual(['a', 'c'])
})
