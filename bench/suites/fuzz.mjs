// Decoders against mutated and random input. They may only throw errors of this package, within limits of
// time and memory. For LZ4 and Zstandard, verdict and bytes must be those of the native libraries.
// `SECONDS` sets how long each decoder is tried (default 3), `CASES` the number of cases instead,
// `DECODER=lz4` selects one of them, `SEED` the first case. Each case has its own seed, which a failure
// names.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { Zstd } from '@hpcc-js/wasm-zstd'
import { decompress } from 'fzstd'
import koffi from 'koffi'
import { internals } from '../internals.mjs'
import { MiB, random, report, sized } from '../measure.mjs'

const SECONDS = Number(process.env.SECONDS ?? sized(3, 0.2))
const CASES = process.env.CASES === undefined ? Number.POSITIVE_INFINITY : Number(process.env.CASES)
const FIRST = Number(process.env.SEED ?? 1)
const only = process.env.DECODER
/** Limits of one case. */
const MOST_MS = 1000
const MOST_BYTES = 256 * MiB
/** Number of cases between two checks of the memory, and between two collections. */
const [LOOK, COLLECT] = [16, 8192]
/**
 * Bytes of buffers above which garbage is collected first, because leftovers of many cases are not the memory
 * of one.
 */
const LEFT_BYTES = 16 * MiB

const all = await internals(
  'af/format/footer',
  'codec/zstd-frames',
  'codec/zstd-wasm',
  'kernels/arena',
  'kernels/lz4',
  'store/zip/directory',
  'adapters/netcdf/file',
  '../test/adapters/zarr/damaged',
  '../test/adapters/zarr/matrix',
  '../test/support/mutated',
)
const { mutated } = all
const fixtures = (folder, ending) => {
  const path = fileURLToPath(new URL(`../../test/fixtures/${folder}`, import.meta.url))
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => new Uint8Array(readFileSync(`${path}/${name}`)))
}

/** Returns the functions of a system library; undefined if it is not installed. */
function native(library, functions) {
  try {
    const loaded = koffi.load(library)
    return functions.map((declaration) => loaded.func(declaration))
  } catch {
    return undefined
  }
}

const same = (a, b) => a.length === b.length && Buffer.compare(a, b) === 0

/** Returns data of several kinds: runs, noise, few symbols, smooth numbers. */
function content(next, most) {
  const below = (end) => Math.floor(next() * end)
  const kind = below(4)
  const [one, span] = [below(256), 1 + below(20)]
  return Uint8Array.from({ length: below(next() < 0.8 ? 300 : most) }, (_, i) => {
    if (kind === 0) return next() < 0.02 ? below(256) : one
    if (kind === 1) return below(256)
    return kind === 2 ? below(span) : 128 + 100 * Math.sin(i / span)
  })
}

const pick = (list, next) => list[Math.floor(next() * list.length)]

/** Creates contents with their encoded form. Encoders reject a null pointer, which an empty array becomes. */
const samplesOf = (encode) =>
  Array.from({ length: 500 }, (_, i) => {
    const next = random(1_000_000 + i)
    const data = content(next, 20_000)
    const room = new Uint8Array(data.length + 1024)
    return { data, encoded: room.slice(0, Number(encode(room, data.length > 0 ? data : new Uint8Array(1), data.length, next))) }
  })

// Each decoder takes a generator and returns the outcome of the case; it throws for a violation.
const decoders = {}

const footers = fixtures('af', '.af').flatMap((bytes) => {
  // The trailer: the length of the payload as u64, and four characters.
  const end = bytes.length - 12
  if (end < 0 || String.fromCharCode(...bytes.subarray(-4)) !== 'ARRF') return []
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset + end).getBigUint64(0, true))
  return length < 20_000 && length <= end ? [{ payload: bytes.slice(end - length, end), dataBytes: end - length }] : []
})
decoders.footer = (next) => {
  const { payload, dataBytes } = pick(footers, next)
  const bytes = mutated(payload, next)
  // The version is checked before a footer is decoded.
  const version = bytes.length < 96 ? 0 : bytes[bytes.length - 96]
  if (version !== 4 && version !== 5) return 'refused'
  return ours(() => all.checkFooter(all.decodeFooter(bytes, 64), dataBytes)) ? 'accepted' : 'refused'
}

const [lz4Decode, lz4Encode] =
  native('liblz4.so.1', [
    'int LZ4_decompress_safe(const void *, void *, int, int)',
    'int LZ4_compress_default(const void *, void *, int, int)',
  ]) ?? []
if (lz4Decode === undefined) console.log('skipped: LZ4, without liblz4')
else {
  const lz4Samples = samplesOf((room, data, length) => lz4Encode(data, room, length, room.length))
  decoders.lz4 = (next) => {
    const { data, encoded } = pick(lz4Samples, next)
    const block = next() < 0.05 ? encoded : mutated(encoded, next)
    const bytes = next() < 0.9 ? data.length : Math.max(0, data.length + Math.floor(next() * 40) - 20)
    const out = new Uint8Array(bytes + 1)
    const accepts = lz4Decode(block.length > 0 ? block : new Uint8Array(1), out, block.length, bytes) === bytes
    const expected = accepts ? out.subarray(0, bytes) : undefined
    const found = ours(() =>
      all.withArena((arena) => {
        const [source, target] = [arena.put(block), arena.alloc(bytes)]
        all.lz4Decode(arena, source, block.length, target, bytes)
        return arena.bytes(target, bytes).slice()
      }),
    )
    if (found === undefined && expected === undefined) return 'refused'
    // An offset of 0 repeats unwritten bytes, which liblz4 accepts.
    if (found === undefined && hasOffset0(block)) return 'refused here alone'
    // The match field of the last token has no effect, but for empty content liblz4 requires it to be 0.
    if (expected === undefined && bytes === 0 && block.length === 1 && block[0] < 16) return 'accepted here alone'
    if (found === undefined || expected === undefined) {
      const verdict = expected ? 'accepts' : 'refuses'
      throw new Error(
        `liblz4 ${verdict} as ${bytes} bytes, we do not agree: ${Buffer.from(block).toString('hex').slice(0, 60)} (${block.length})`,
      )
    }
    if (!same(found, expected)) throw new Error('liblz4 decodes it to other bytes')
    return 'accepted'
  }
}

function hasOffset0(block) {
  for (let at = 0; at < block.length; ) {
    const token = block[at++]
    const length = (nibble) => {
      let sum = nibble
      if (nibble === 15)
        do sum += block[at] ?? 0
        while (block[at++] === 255)
      return sum
    }
    const literals = length(token >> 4)
    at += literals
    if (at + 2 > block.length) return false
    if (block[at] === 0 && block[at + 1] === 0) return true
    at += 2
    length(token & 15)
  }
  return false
}

const [zstdDecode, zstdEncode] =
  native('libzstd.so.1', [
    'size_t ZSTD_decompress(void *, size_t, const void *, size_t)',
    'size_t ZSTD_compress(void *, size_t, const void *, size_t, int)',
  ]) ?? []
const newer = await Zstd.load()
const { decodeFrame } = all
if (zstdDecode === undefined) console.log('skipped: Zstandard, without libzstd')
else {
  const zstdSamples = samplesOf((room, data, length, next) =>
    zstdEncode(room, room.length, data, length, 1 + Math.floor(next() * (next() < 0.7 ? 4 : 19))),
  )
  decoders.zstd = (next) => {
    const { data, encoded } = pick(zstdSamples, next)
    const input = next() < 0.05 ? encoded : mutated(encoded, next)
    const frames = ours(() => all.parseFrames(input))
    if (frames?.length !== 1 || (frames[0].contentBytes ?? 0) > MiB) return 'refused'
    const [frame] = frames
    const bytes = frame.contentBytes ?? data.length
    const plain = all.toFrame({ ...frame, checksum: new Uint8Array(0) }, bytes)
    const out = new Uint8Array(bytes + 1)
    const accepts = Number(zstdDecode(out, bytes, plain, plain.length)) === bytes
    let reason = ''
    const found = ours(
      () => decodeFrame(frame, bytes),
      ({ message }) => {
        reason = message
      },
    )
    if (found === undefined && !accepts) return 'refused'
    // The library does not check that streams of literals are used up.
    if (found === undefined && reason.includes('the literals of a block are damaged')) return 'refused here alone'
    // Reserved bits have to be 0, which libzstd checks from 1.5.5 on.
    if (found === undefined && !newerAccepts(plain, bytes)) return 'refused with a newer libzstd'
    if (found === undefined) throw new Error(`libzstd accepts it, we do not: ${reason}`)
    if (!accepts) {
      // If the library rejects input that this package decodes, a third one has to decode it to the same
      // bytes.
      const other = new Uint8Array(bytes + 64)
      const third = decompress(all.toFrame({ ...frame, checksum: new Uint8Array(0) }, bytes), other).subarray(0, bytes)
      if (!same(third, found)) throw new Error('libzstd refuses it, and fzstd decodes it to other bytes')
      return 'accepted with fzstd'
    }
    if (!same(found, out.subarray(0, bytes))) throw new Error('libzstd decodes it to other bytes')
    return 'accepted'
  }
}

/** Whether the libzstd in `@hpcc-js/wasm-zstd` decodes a frame to that many bytes. */
function newerAccepts(frame, bytes) {
  try {
    return newer.decompress(frame).length === bytes
  } catch {
    return false
  }
}

/** Creates an archive of uncompressed files, some with a Zip64 field. */
function archive(next) {
  const parts = []
  const directory = []
  let at = 0
  const number = (bytes, value) => Uint8Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** i) % 256)
  const put = (list, ...fields) =>
    list.push(...fields.flatMap((field) => [...(field instanceof Uint8Array ? field : number(...field))]))
  for (let left = Math.floor(next() * 5); left >= 0; left--) {
    const name = new TextEncoder().encode(`folder/${left}.af`)
    const data = content(next, 100).subarray(0, 50)
    const long = next() < 0.3
    const sizes = long
      ? [
          [4, 0xffffffff],
          [4, 0xffffffff],
        ]
      : [
          [4, data.length],
          [4, data.length],
        ]
    const extra = long
      ? Uint8Array.from([...number(2, 1), ...number(2, 16), ...number(8, data.length), ...number(8, data.length)])
      : new Uint8Array(0)
    const header = [[2, 20], [2, 0], [2, 0], [4, 0], [4, 0], ...sizes, [2, name.length], [2, extra.length]]
    const start = at
    const local = []
    put(local, [4, 0x04034b50], ...header, name, extra, data)
    parts.push(...local)
    at += local.length
    put(directory, [4, 0x02014b50], [2, 20], ...header, [2, 0], [2, 0], [2, 0], [4, 0], [4, start], name, extra)
    directory.count = (directory.count ?? 0) + 1
  }
  const end = []
  put(end, [4, 0x06054b50], [4, 0], [2, directory.count], [2, directory.count], [4, directory.length], [4, at], [2, 0])
  return Uint8Array.from([...parts, ...directory, ...end])
}
const archives = Array.from({ length: 50 }, (_, i) => archive(random(i)))
decoders.zip = (next) => {
  const whole = pick(archives, next)
  // Mutates mostly the part behind the contents: the directory and its end.
  const cut = next() < 0.8 ? Math.floor(whole.length / 2) : 0
  const bytes = Uint8Array.from([...whole.subarray(0, cut), ...mutated(whole.subarray(cut), next)])
  const done = ours(() => {
    const place = all.findDirectory(bytes.subarray(-all.ZIP_TAIL_BYTES), bytes.length)
    if (place.offset < 0 || place.length < 0) throw new Error(`a directory of ${place.length} bytes at ${place.offset}`)
    for (const entry of all.readDirectory(bytes.subarray(place.offset, place.offset + place.length), place).values()) {
      const header = bytes.slice(entry.headerOffset, entry.headerOffset + all.LOCAL_HEADER_BYTES + entry.nameBytes.length)
      if (header.length === all.LOCAL_HEADER_BYTES + entry.nameBytes.length) all.contentOffset(header, entry)
    }
    return true
  })
  return done ? 'accepted' : 'refused'
}

const netcdfs = fixtures('nc', '.nc').map(({ buffer, byteLength }) => ({
  head: new Uint8Array(buffer.slice(0, 8192)),
  byteLength,
}))
decoders.netcdf = async (next) => {
  const { head, byteLength } = pick(netcdfs, next)
  const changed = mutated(head, next)
  // The values do not matter here, so all are 0.
  const slice = async (start, end) => {
    const out = new Uint8Array(Math.max(0, end - start))
    out.set(changed.subarray(start, end))
    return out.buffer
  }
  const buffer = { byteLength: next() < 0.9 ? byteLength : changed.length, slice }
  try {
    await all.openBuffer(buffer, { name: 'a.nc' })
    return 'accepted'
  } catch (error) {
    return refused(error)
  }
}

// Chunks and shards of arrays written by zarr-python.
const isWanted = only === undefined || only === 'zarr'
const matrix = isWanted ? all.writeMatrix(sized(200, 20), 1) : undefined
const arrays = matrix && (await all.DamagedArrays.of(matrix))
matrix?.remove()
if (isWanted && arrays === undefined) console.log('skipped: Zarr, without zarr-python')
if (arrays !== undefined) decoders.zarr = (next) => arrays.damage(next)

/** Returns the result of `work`; undefined for an error of this package. */
function ours(work, onError = () => undefined) {
  try {
    return work() ?? true
  } catch (error) {
    refused(error)
    onError(error)
    return undefined
  }
}

function refused(error) {
  if (error instanceof Error && 'tag' in error) return 'refused'
  throw error
}

/**
 * Ends the process, with a message, if a case takes ten times the allowed CPU time, or ten minutes, because
 * nothing else would run then. Between cases the time is 0.
 */
const now = new BigInt64Array(new SharedArrayBuffer(24))
const watchdog = new Worker(
  `const { workerData: { now, name, most } } = require('node:worker_threads')
   const fs = require('node:fs')
   setInterval(() => {
     const [started, seed, used] = now
     const { user, system } = process.cpuUsage()
     if (started === 0n || (BigInt(user + system) - used < most && BigInt(Date.now()) - started < 600_000n)) return
     fs.writeSync(1, 'a case has no end: SEED=' + seed + '\\n')
     process.kill(process.pid, 'SIGKILL')
   }, 500)`,
  { eval: true, workerData: { now, most: BigInt(10_000 * MOST_MS) } },
)
watchdog.unref()

async function fuzz(name, decode) {
  const counts = {}
  let [seed, slowest, slowestSeed, cases, failures] = [FIRST, 0, 0, 0, 0]
  globalThis.gc?.()
  const first = process.memoryUsage.rss()
  /** Resident bytes after the last collection; `first` is the value before all cases. */
  let before = first
  let most = 0
  const start = performance.now()
  const fail = (text) => {
    failures++
    if (failures <= 10) console.log(`${name}: ${text}: DECODER=${name} SEED=${seed} CASES=1`)
  }
  for (; cases < CASES && (CASES < Number.POSITIVE_INFINITY || performance.now() - start < 1000 * SECONDS); cases++, seed++) {
    const began = process.cpuUsage()
    now[1] = BigInt(seed)
    now[2] = BigInt(began.user + began.system)
    now[0] = BigInt(Date.now())
    try {
      const outcome = decode(random(seed))
      const kind = typeof outcome === 'string' ? outcome : await outcome
      counts[kind] = (counts[kind] ?? 0) + 1
    } catch (error) {
      fail(`not an error of ours: ${error.stack?.split('\n').slice(0, 3).join(' ') ?? error}`)
    }
    // CPU time of this process alone, because other load on the machine must not count.
    const { user, system } = process.cpuUsage(began)
    const spent = (user + system) / 1000
    if (spent > slowest) [slowest, slowestSeed] = [spent, seed]
    if (spent > MOST_MS) fail(`took ${spent.toFixed(0)} ms of the processor`)
    if (cases % LOOK === 0) {
      const { rss, arrayBuffers } = process.memoryUsage()
      const grown = rss - before
      if (grown > MOST_BYTES) fail(`${(grown / MiB).toFixed(0)} MiB more in use after this or one of ${LOOK} cases before`)
      most = Math.max(most, grown)
      if (arrayBuffers > LEFT_BYTES || grown > MOST_BYTES / 2) {
        globalThis.gc?.()
        before = process.memoryUsage.rss()
      }
    }
    if (cases % COLLECT === 0) {
      now[0] = 0n
      globalThis.gc?.()
    }
  }
  now[0] = 0n
  globalThis.gc?.()
  const left = process.memoryUsage.rss() - first
  if (left > MOST_BYTES) fail(`${(left / MiB).toFixed(0)} MiB more in use after all cases`)
  const seconds = (performance.now() - start) / 1000
  const outcomes = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`)
  console.log(
    `${name}: ${cases} cases in ${seconds.toFixed(1)} s: ${outcomes.join(', ')}; slowest ${slowest.toFixed(1)} ms (SEED=${slowestSeed}), \
${(most / MiB).toFixed(0)} MiB at most`,
  )
  report({ suite: 'fuzz', name, peer: 'no failure', speed: false, ratio: failures, goal: '0', met: failures === 0 })
  return failures
}

let failed = 0
if (only !== undefined && decoders[only] === undefined)
  throw new Error(`no decoder ${only}; there are ${Object.keys(decoders).join(', ')}`)
for (const [name, decode] of Object.entries(decoders)) if (only === undefined || only === name) failed += await fuzz(name, decode)
await arrays?.close()
process.exitCode = failed > 0 ? 1 : 0
