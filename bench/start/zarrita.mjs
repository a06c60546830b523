// The same steps as in hyperslab.mjs; the caller computes sums itself.
import * as zarr from 'zarrita'

const COLUMNS = 6
const CODEC = { name: 'bytes', configuration: { endian: 'little' } }
const METADATA = {
  zarr_format: 3,
  node_type: 'array',
  shape: [4, COLUMNS],
  data_type: 'float32',
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [2, 3] } },
  chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
  fill_value: 0,
  codecs: [CODEC],
  attributes: {},
}

export async function run() {
  const store = new Map([['/zarr.json', new TextEncoder().encode(JSON.stringify(METADATA))]])
  for (const [i, j] of [
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ]) {
    // biome-ignore format: one line
    const chunk = Float32Array.from({ length: 6 }, (_, n) => (2 * i + Math.floor(n / 3)) * COLUMNS + 3 * j + (n % 3))
    store.set(`/c/${i}/${j}`, new Uint8Array(chunk.buffer))
  }
  const array = await zarr.open.v3(store, { kind: 'array' })
  const { data } = await zarr.get(array, [zarr.slice(1, 3), zarr.slice(2, 4)])
  return [...data, (await zarr.get(array, null)).data.reduce((a, b) => a + b)]
}
