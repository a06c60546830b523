import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stridesOf } from '../../../src/core/shape.ts'
import { openZarr } from '../../../src/runtime/zarr.ts'
import { anySelections, numbered } from '../../support/arbitraries.ts'
import { runs } from '../../support/budget.ts'
import { type Plain, plainGet } from '../../support/oracle.ts'
import { AskedStore } from './handmade.ts'

/** Lengths of the chunks along an axis, and that of the axis, which may end within the last of them. */
const axes = fc
  .tuple(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }), fc.nat(4))
  .map(([lengths, cut]) => ({ lengths, length: lengths.reduce((a, b) => a + b) - Math.min(cut, lengths.at(-1)! - 1) }))

/** Writes each chunk in full, element by element, with the two axes of chunks in the order `order`. */
async function write(
  store: AskedStore,
  axes: readonly { lengths: number[]; length: number }[],
  order: readonly number[],
): Promise<Plain> {
  const plain = numbered('int32', axes.map(({ length }) => length)) // biome-ignore format: one line
  const [rows, columns] = [axes[0]!, axes[1]!]
  let top = 0
  for (const [i, height] of rows.lengths.entries()) {
    let left = 0
    for (const [j, width] of columns.lengths.entries()) {
      const stored = new Int32Array(height * width).fill(-99)
      const stride = order[0] === 0 ? [width, 1] : [1, height]
      for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++)
          if (top + y < plain.shape[0]! && left + x < plain.shape[1]!)
            stored[y * stride[0]! + x * stride[1]!] = plain.data[(top + y) * stridesOf(plain.shape)[0]! + left + x] as number
      await store.inner.put(`c/${i}/${j}`, new Uint8Array(stored.buffer))
      left += width
    }
    top += height
  }
  const metadata = {
    zarr_format: 3,
    node_type: 'array',
    shape: plain.shape,
    data_type: 'int32',
    chunk_grid: { name: 'rectilinear', configuration: { kind: 'inline', chunk_shapes: axes.map(({ lengths }) => lengths) } },
    chunk_key_encoding: { name: 'default' },
    fill_value: 0,
    codecs: [
      { name: 'transpose', configuration: { order } },
      { name: 'bytes', configuration: { endian: 'little' } },
    ],
  }
  await store.inner.put('zarr.json', new TextEncoder().encode(JSON.stringify(metadata)))
  return plain
}

test('chunks of any lengths are read, transposed ones and those that reach beyond the array', async () => {
  const orders = fc.constantFrom([0, 1], [1, 0])
  await fc.assert(
    fc.asyncProperty(axes, axes, orders, fc.gen(), async (rows, columns, order, generate) => {
      const store = new AskedStore()
      const plain = await write(store, [rows, columns], order)
      const array = await openZarr({ store: store.store, path: '' }, { kind: 'array' })
      expect(array.chunks.counts).toEqual([rows.lengths.length, columns.lengths.length])
      store.take()
      expect((await array.toTensor()).data).toEqual(plain.data)
      expect(store.take()).toHaveLength(array.chunks.count)
      expect(await array.sum()).toBe((plain.data as Int32Array).reduce((a, b) => a + b, 0))
      const selection = generate(() => anySelections(array.chunks))
      const [got, wanted] = [await array.get(selection), plainGet(plain, selection, array.chunks)]
      const found = typeof got === 'object' && 'shape' in got ? got : { shape: [], data: [got] }
      expect([found.shape, Array.from(found.data as never)]).toEqual([wanted.shape, Array.from(wanted.data as never)])
    }),
    { numRuns: runs(200) },
  )
})
