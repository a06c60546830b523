import { HyperslabError } from '../core/errors.js'
import { STATS_MAGIC, withTrailer } from './footer-trailer.js'
import { type StatValue, statValueLayout } from './footer-values.js'
import { type Archived, archive, option, struct, unarchive } from './rkyv/layout.js'
import { uint32, uint64 } from './rkyv/leaves.js'
import { vec } from './rkyv/pointers.js'
import { string } from './rkyv/string.js'

export type { StatValue } from './footer-values.js'

/** Statistics of one array. Counts are those in the file, which are wrong in some: see the format's trust rule for statistics. */
export interface ArrayStats {
  name: string
  /** `null` when all elements are fill values. */
  min: StatValue | null
  max: StatValue | null
  nullCount: bigint
  rowCount: bigint
}

/** 0: array-format up to 0.11, which has no version field. 1: since 0.12. */
export type StatsVersion = 0 | 1

export interface StatsFile {
  version: StatsVersion
  arrays: ArrayStats[]
}

/** +0 name | +16 minimum | +48 maximum | +80 nulls | +88 rows */
const statsLayout: Archived<ArrayStats> = struct({
  name: string,
  min: option(statValueLayout),
  max: option(statValueLayout),
  nullCount: uint64,
  rowCount: uint64,
})

/** 16 bytes. */
const version0Layout = struct({ arrays: vec(statsLayout) })
/** +0 version | +8 arrays; 24 bytes. */
const version1Layout = struct({ version: uint32, arrays: vec(statsLayout) })

/**
 * The statistics in a payload (what lies in front of the trailer).
 * @throws FormatError when the bytes are not statistics; UnsupportedError when they are of another version
 */
export function decodeStats(payload: Uint8Array): StatsFile {
  if (versionOf(payload) === 0) return { version: 0, ...unarchive('statistics', version0Layout, payload) }
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
 * The payload for statistics.
 * @param version 1 unless a file of version 0 is to be reproduced: array-format 0.12 does not open stacks with those
 * @throws InvalidArgumentError
 */
export function encodeStats(arrays: ArrayStats[], version: StatsVersion = 1): Uint8Array {
  return version === 0 ? archive(version0Layout, { arrays }) : archive(version1Layout, { version, arrays })
}

/** A whole file: payload and trailer. */
export function encodeStatsFile(arrays: ArrayStats[], version: StatsVersion = 1): Uint8Array {
  return withTrailer(encodeStats(arrays, version), STATS_MAGIC)
}

/**
 * Both versions end in the Vec of arrays, 16 bytes. What tells them apart is where its elements end: directly in front of it, or at least
 * 8 bytes earlier, where version 1 has its number. Reading as version 1 rejects everything that is neither.
 */
function versionOf(payload: Uint8Array): StatsVersion {
  const vecAt = payload.byteLength - version0Layout.size
  if (vecAt < 0) return 1
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  const end = BigInt(vecAt) + view.getBigInt64(vecAt, true) + view.getBigUint64(vecAt + 8, true) * BigInt(statsLayout.size)
  return end === BigInt(vecAt) ? 0 : 1
}
