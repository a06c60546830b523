import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError } from '../../core/errors.ts'
import { checkCrc } from '../../engine/integrity.ts'
import { crc32cOf } from '../../kernels/crc32c.ts'
import { struct, unarchive } from '../rkyv/layout.ts'
import { uint32 } from '../rkyv/leaves.ts'
import { vec } from '../rkyv/pointers.ts'
import { archive } from '../rkyv/writer.ts'
import { type ArrayStats, statsLayout } from './array-stats.ts'
import { withTrailer } from './encode.ts'
import { type Magic, STATS_MAGIC, TRAILER_BYTES } from './footer-trailer.ts'
import { readTrailer } from './trailer-faults.ts'

export type { ArrayStats } from './array-stats.ts'
export type { StatValue } from './footer-values.ts'

/** 0: up to array-format 0.11, without a version field. 1: since 0.12. */
export type StatsVersion = 0 | 1

export interface StatsFile {
  version: StatsVersion
  arrays: ArrayStats[]
}

/** 16 bytes. */
const version0Layout = struct({ arrays: vec(statsLayout) })
/** +0 version | +8 arrays; 24 bytes. */
const version1Layout = struct({ version: uint32, arrays: vec(statsLayout) })

/**
 * Decodes the statistics in a payload, which precedes the trailer.
 * @throws FormatError if the bytes are not statistics; UnsupportedError for another version
 */
export function decodeStats(payload: Uint8Array): StatsFile {
  if (readStatsVersion(payload) === 0) return { version: 0, ...unarchive('statistics', version0Layout, payload) }
  const { version, arrays } = unarchive('statistics', version1Layout, payload)
  if (version !== 1) {
    throw new HyperslabError('UnsupportedError', `statistics version ${version}, expected 0 or 1`, {
      actual: version,
      expected: [0, 1],
    })
  }
  return { version, arrays }
}

/**
 * Encodes statistics as a payload.
 * @param version 0 only to reproduce a file of version 0, because array-format 0.12 does not open stacks with
 *   such files. Default: 1
 * @throws InvalidArgumentError
 */
export function encodeStats(arrays: ArrayStats[], version: StatsVersion = 1): Uint8Array {
  return version === 0 ? archive(version0Layout, { arrays }) : archive(version1Layout, { version, arrays })
}

/*
 * A file of this package says which state of the container it describes, in front of what other programs
 * read:
 *
 *     "HSTATS1" and a zero byte | u32 CRC-32C of what follows up to the trailer | u32 bytes of the state | the state | payload | trailer
 */
const LEAD = 'HSTATS1\0'
const LEAD_BYTES = 16

/** Returns a complete statistics file. */
export function encodeStatsFile(arrays: ArrayStats[], state: string): Uint8Array {
  const payload = encodeStats(arrays)
  const name = new TextEncoder().encode(state)
  const lead = new Uint8Array(LEAD_BYTES)
  lead.set(new TextEncoder().encode(LEAD))
  const view = new DataView(lead.buffer)
  view.setUint32(12, name.length, true)
  view.setUint32(8, crc32cOf(joinBytes([lead.subarray(12), name, payload])), true)
  return joinBytes([lead, name, withTrailer(payload, STATS_MAGIC)])
}

/**
 * Decodes a complete statistics file. `state` identifies the state of the container that it describes;
 * undefined in files of other programs, which do not store it.
 * @throws FormatError if the bytes are not statistics; IntegrityError if they have changed; UnsupportedError
 *   for another version
 */
export function decodeStatsFile(file: Uint8Array): StatsFile & { readonly state?: string } {
  const { payload, dataBytes } = splitFile(file, STATS_MAGIC)
  if (dataBytes < LEAD_BYTES || new TextDecoder().decode(file.subarray(0, LEAD.length)) !== LEAD) return decodeStats(payload)
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  checkCrc('the statistics', file.subarray(12, dataBytes + payload.length), view.getUint32(8, true))
  const state = new TextDecoder().decode(file.subarray(LEAD_BYTES, LEAD_BYTES + view.getUint32(12, true)))
  return { ...decodeStats(payload), state }
}

/**
 * Both versions end with the Vec of arrays, 16 bytes. They differ in where its elements end: directly in
 * front of the Vec, or at least 8 bytes earlier, because version 1 stores its number in between. Reading as
 * version 1 rejects all other payloads.
 */
function readStatsVersion(payload: Uint8Array): StatsVersion {
  const vecAt = payload.byteLength - version0Layout.size
  if (vecAt < 0) return 1
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  const end = BigInt(vecAt) + view.getBigInt64(vecAt, true) + view.getBigUint64(vecAt + 8, true) * BigInt(statsLayout.size)
  return end === BigInt(vecAt) ? 0 : 1
}

/**
 * Returns the payload of a complete file, as a view, and the number of data bytes in front of it.
 * @throws FormatError
 */
export function splitFile(file: Uint8Array, magic: Magic): { payload: Uint8Array; dataBytes: number } {
  const end = Math.max(0, file.byteLength - TRAILER_BYTES)
  const dataBytes = end - readTrailer(file.subarray(end), magic, file.byteLength)
  return { payload: file.subarray(dataBytes, end), dataBytes }
}
