// The kernels as a download and on first use: sizes, time until they are ready, and first calls of the
// decoders in new processes.
// Compared with decoders in JavaScript, which need no compilation but become fast only with use.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { Zstd } from '@hpcc-js/wasm-zstd'
import { bundle, internals } from '../internals.mjs'
import { climate, inFolder, median, report, sized } from '../measure.mjs'
import { loadPeer, peerFolder } from '../peers.mjs'

const ROUNDS = sized(15, 1)
const BYTES = 64 * 1024
const at = (path) => fileURLToPath(new URL(path, import.meta.url))

function sizes() {
  const wasm = readFileSync(at('../../build/kernels.wasm'))
  const [raw, packed] = [wasm.length / 1024, gzipSync(wasm, { level: 9 }).length / 1024]
  const row = (name, kib, most) =>
    report({ suite: 'module', name, peer: '1 KiB', speed: false, ratio: kib, goal: `at most ${most}`, met: kib <= most })
  row('size in KiB', raw, 24)
  row('size in KiB, gzipped, against the first goal', packed, 8)
  row('size in KiB, gzipped', packed, 10)
}

/** Writes the input of the sides: ten blocks each, with different data. */
async function writeBlocks(folder) {
  const { Arena, compute, kernels } = await internals('kernels/arena', 'kernels/compute', 'kernels/instance')
  const zstd = await Zstd.load()
  const module = kernels()
  const encoder = compute(new Arena(module))
  const encode = (bytes) => {
    const mark = module.arenaMark()
    const source = module.arenaAlloc(bytes.length)
    const target = module.arenaAlloc(encoder.lz4Bound(bytes.length))
    new Uint8Array(module.memory.buffer).set(bytes, source)
    const length = encoder.lz4Encode(source, bytes.length, target)
    const packed = new Uint8Array(module.memory.buffer, target, length).slice()
    module.arenaReset(mark)
    return packed
  }
  for (let i = 0; i < 10; i++) {
    const block = new Uint8Array(climate(BYTES / 4, i + 1).buffer)
    writeFileSync(join(folder, `lz4-${i}`), encode(block))
    writeFileSync(join(folder, `zstd-${i}`), zstd.compress(block, 3))
  }
}

function firstCalls(side, file, folder) {
  const args = [at('../start/first-calls.mjs'), side, file, folder, String(BYTES)]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${side}: ${stderr}`)
  return JSON.parse(stdout)
}

function compare(ours, peer, files, folder) {
  const times = { [ours]: [], [peer]: [] }
  for (let round = 0; round < ROUNDS; round++)
    for (const side of round % 2 ? [ours, peer] : [peer, ours]) times[side].push(firstCalls(side, files[side], folder))
  const found = new Set(Object.values(times).flatMap((all) => all.map(({ sum, length }) => `${sum} ${length}`)))
  if (found.size > 1) throw new Error(`${ours} and ${peer} decode to different bytes`)
  const ms = (side, what) => median(times[side].map((time) => time[what]))
  for (const side of [ours, peer])
    console.log(
      `${side}: ready in ${ms(side, 'ready').toFixed(2)} ms, first call ${ms(side, 'first').toFixed(2)}, ten ${ms(side, 'ten').toFixed(2)}`,
    )
  for (const [what, name] of Object.entries({ first: 'first call', ten: 'first ten calls' })) {
    const ratio = median(times[peer].map((time, round) => time[what] / times[ours][round][what]))
    report({ suite: 'module', name: `${name} of ${ours}, 64 KiB`, peer, ratio, goal: '>= 1', met: ratio >= 1 })
  }
  return ms(ours, 'ready')
}

sizes()
await inFolder(async (folder) => {
  await writeBlocks(folder)
  const own = join(folder, 'ours.mjs')
  await bundle(own, ['kernels/instance', 'kernels/arena', 'kernels/lz4', 'codec/zstd-frames', 'codec/zstd-wasm'])
  const files = { lz4: own, zstd: own, fzstd: at('../../node_modules/fzstd/esm/index.mjs') }
  compare('zstd', 'fzstd', files, folder)
  if ((await loadPeer('lz4js')) === undefined) return
  files.lz4js = join(peerFolder('lz4js'), 'node_modules/lz4js/lz4.js')
  const ready = compare('lz4', 'lz4js', files, folder)
  report({ suite: 'module', name: 'ready, ms', peer: '1 ms', ratio: ready, goal: 'at most 2', met: ready <= 2 })
})
