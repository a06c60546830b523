// CRC-32C in kernel memory, against tables in plain JavaScript (slicing by 8) and against reading the memory.
// The platform has no CRC-32C for comparison; if present, node:zlib's CRC-32 of zip is shown for scale.
// Also the cost of checking single chunks of uncompressed blocks, compared with files without checksums.
import { readFileSync } from 'node:fs'
import zlib from 'node:zlib'
import { create, open } from '../../dist/index.js'
import { inFolder, MiB, median, random, report, sized, time } from '../measure.mjs'

const ROUNDS = sized(15, 1)
const SIZES = [1024, 16 * 1024, 64 * 1024, MiB, 16 * MiB]

const { instance } = await WebAssembly.instantiate(readFileSync(new URL('../../dist/kernels.wasm', import.meta.url)))
const kernels = instance.exports

const tables = Array.from({ length: 8 }, () => new Uint32Array(256))
for (let i = 0; i < 256; i++) {
  let crc = i
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  tables[0][i] = crc
}
for (let k = 1; k < 8; k++)
  for (let i = 0; i < 256; i++) tables[k][i] = (tables[k - 1][i] >>> 8) ^ tables[0][tables[k - 1][i] & 255]
const [t0, t1, t2, t3, t4, t5, t6, t7] = tables

function javascript(words) {
  let crc = ~0
  for (let i = 0; i < words.length; i += 2) {
    const low = words[i] ^ crc
    const high = words[i + 1]
    crc =
      t7[low & 255] ^
      t6[(low >>> 8) & 255] ^
      t5[(low >>> 16) & 255] ^
      t4[low >>> 24] ^
      t3[high & 255] ^
      t2[(high >>> 8) & 255] ^
      t1[(high >>> 16) & 255] ^
      t0[high >>> 24]
  }
  return ~crc >>> 0
}

const next = random(1)
const speeds = (bytes, times) =>
  `${(bytes / median(times) / 1e6).toFixed(2)} GB/s (${(bytes / Math.max(...times) / 1e6).toFixed(2)} to ${(bytes / Math.min(...times) / 1e6).toFixed(2)})`
for (const bytes of SIZES) {
  const mark = kernels.arenaMark()
  const pointer = kernels.arenaAlloc(bytes)
  const copy = kernels.arenaAlloc(bytes)
  const words = new Uint32Array(kernels.memory.buffer, pointer, bytes / 4)
  for (let i = 0; i < words.length; i++) words[i] = next() * 2 ** 32
  const view = new Uint8Array(kernels.memory.buffer)
  if (kernels.crc32c(pointer, bytes, 0) >>> 0 !== javascript(words)) throw new Error('the checksums differ')

  const repeats = Math.max(1, Math.round((8 * MiB) / bytes))
  const repeated = (work) =>
    time(() => {
      for (let i = 0; i < repeats; i++) work()
    })
  const works = {
    kernel: () => kernels.crc32c(pointer, bytes, 0),
    javascript: () => javascript(words),
    memory: () => view.copyWithin(copy, pointer, pointer + bytes),
    ...(zlib.crc32 && { 'CRC-32 of node:zlib': () => zlib.crc32(view.subarray(pointer, pointer + bytes)) }),
  }
  const times = Object.fromEntries(Object.keys(works).map((name) => [name, []]))
  for (let round = -2; round < ROUNDS; round++) {
    for (const [name, work] of Object.entries(works)) {
      const spent = await repeated(work)
      if (round >= 0) times[name].push(spent)
    }
  }
  const total = bytes * repeats
  console.log(
    `${bytes / 1024} KiB: ${Object.entries(times)
      .map(([name, list]) => `${name} ${speeds(total, list)}`)
      .join(', ')}`,
  )
  if (bytes === MiB) {
    const ratio = median(times.javascript.map((spent, i) => spent / times.kernel[i]))
    report({ suite: 'crc', name: '1 MiB', peer: 'slicing by 8 in JavaScript', ratio, goal: 'at least 3', met: ratio >= 3 })
    const speed = total / median(times.kernel) / 1e6
    report({ suite: 'crc', name: '1 MiB in GB/s', peer: '1 GB/s', ratio: speed, goal: 'at least 3', met: speed >= 3 })
  }
  kernels.arenaReset(mark)
}

const BYTES = sized(64, 8) * MiB
await inFolder(async (folder) => {
  for (const chunk of [256, 4096, 256 * 1024]) {
    const elements = chunk / 4
    const paths = { checked: `${folder}/checked${chunk}.af`, unchecked: `${folder}/unchecked${chunk}.af` }
    const values = Float32Array.from({ length: BYTES / 4 / (chunk < 1024 ? 8 : 1) }, (_, i) => i)
    for (const [name, path] of Object.entries(paths)) {
      const file = await create(path, { codec: 'none', extensionBlocks: name === 'checked' })
      await file.createArray('x', { dtype: 'float32', shape: [values.length], chunks: [elements] }).set(null, values)
      await file.compact()
      await file.close()
    }
    const files = {}
    for (const [name, path] of Object.entries(paths)) files[name] = await open(path, { cacheBytes: 0 })
    const places = Array.from({ length: sized(500, 20) }, () => Math.floor(next() * (values.length / elements)) * elements)
    const times = { checked: [], unchecked: [] }
    for (let round = -1; round < ROUNDS; round++)
      for (const [name, file] of Object.entries(files)) {
        const spent = await time(async () => {
          for (const start of places) await file.array('x').get([{ start, stop: start + elements, step: 1 }])
        })
        if (round >= 0) times[name].push(spent)
      }
    const each = (list) => `${((1000 * median(list)) / places.length).toFixed(1)} us`
    console.log(
      `a random chunk of ${chunk} bytes, uncompressed: checked ${each(times.checked)}, unchecked ${each(times.unchecked)}`,
    )
    const ratio = median(times.checked.map((spent, i) => spent / times.unchecked[i]))
    const name = `random chunks of ${chunk < 1024 ? `${chunk} bytes` : `${chunk / 1024} KiB`}, uncompressed`
    report({ suite: 'crc', name, peer: 'unchecked', ratio, goal: 'at most 1.5', met: ratio <= 1.5 })
    for (const file of Object.values(files)) await file.close()
  }
})
