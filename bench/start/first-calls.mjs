// node first-calls.mjs SIDE BUNDLE FOLDER: in a new process, prints the milliseconds until the decoder is
// ready, of its first call and of its first ten, each with another block.
// SIDE is lz4, lz4js, zstd or fzstd; FOLDER contains the blocks and the peers.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [side, bundle, folder, decodedBytes] = process.argv.slice(2)
const size = Number(decodedBytes)
const blocks = Array.from({ length: 10 }, (_, i) => readFileSync(join(folder, `${side.includes('lz4') ? 'lz4' : 'zstd'}-${i}`)))
const loaded = await import(pathToFileURL(bundle))
const sum = (bytes) => bytes.reduce((a, b) => (a + b) >>> 0, 0)

const decoders = {
  lz4: () => {
    loaded.initKernels()
    return (block) =>
      loaded.withArena((arena) => {
        const to = arena.alloc(size)
        loaded.lz4Decode(arena, arena.put(block), block.length, to, size)
        return arena.bytes(to, size).slice()
      })
  },
  lz4js: () => (block) => {
    const out = new Uint8Array(size)
    loaded.decompressBlock(block, out, 0, block.length, 0)
    return out
  },
  zstd: () => {
    const decode = loaded.decodeFrame
    return (block) => decode(loaded.parseFrames(block)[0], size)
  },
  fzstd: () => (block) => loaded.decompress(block),
}

const start = performance.now()
const decode = decoders[side]()
const ready = performance.now()
const first = decode(blocks[0])
const once = performance.now()
for (const block of blocks.slice(1)) decode(block)
const end = performance.now()
console.log(
  JSON.stringify({ ready: ready - start, first: once - ready, ten: end - ready, sum: sum(first), length: first.length }),
)
