import type { Cursor } from '../cursor.ts'

/**
 * Value of unwritten elements, as stored. `undefined` bytes: the value is undefined, or zeros by default.
 */
export interface Fill {
  readonly bytes: Uint8Array | undefined
  /** Whether a user has set it. */
  readonly isSet: boolean
}

export const NO_FILL: Fill = { bytes: undefined, isSet: false }

/** Parses the message of versions before 1.6. */
export function parseOldFill(cursor: Cursor): Fill {
  const size = cursor.u32()
  return size === 0 ? NO_FILL : { bytes: cursor.slice(size), isSet: true }
}

/** Time of writing of fill values that are never written. The library then does not fill what it reads. */
const NEVER = 1

/** Parses the message. A value that is never written counts as none, as in h5py, which shows zeros. */
export function parseFill(cursor: Cursor): Fill {
  const version = cursor.version('the fill value', [1, 2, 3])
  if (version === 3) {
    const flags = cursor.u8()
    return flags & 0x20 && ((flags >> 2) & 3) !== NEVER ? sized(cursor) : NO_FILL
  }
  const time = cursor.skip(1).u8()
  const isDefined = cursor.u8() !== 0 && time !== NEVER
  // Version 1 always has the size.
  return isDefined && (version === 1 || cursor.left >= 4) ? sized(cursor) : NO_FILL
}

function sized(cursor: Cursor): Fill {
  // All ones stand for a value that is undefined.
  const size = cursor.u32()
  return size === 0 || size === 0xffffffff ? NO_FILL : { bytes: cursor.slice(size), isSet: true }
}
