import { type Cursor, copyCursor, damaged, refuse } from '../cursor.ts'
import { LIMITS } from '../limits.ts'
import { checkSum } from '../lookup3.ts'
import type { Objects } from '../objects.ts'
import { parseStoredSelection, type StoredSelection } from './selection.ts'

/** A name, in parts between the numbers of a pattern. A plain name has one part. */
export type NamePattern = readonly string[]

/** Elements of a virtual array, and the elements of another array that they show, in the same order. */
export interface Mapping {
  /** Name of the file; `.` stands for the file of the virtual array. */
  readonly file: NamePattern
  readonly array: NamePattern
  readonly source: StoredSelection
  readonly target: StoredSelection
}

/** Flags of a mapping in version 1: its file name, or its array name, is that of an earlier one. */
const [SAME_FILE, SAME_ARRAY] = [1, 2]
/** Flag of a mapping whose source is in the file of the virtual array. */
const OWN_FILE = 4

/** Reads the mappings of a virtual array. */
export async function readMappings(objects: Objects, address: number | undefined, object: number): Promise<Mapping[]> {
  if (address === undefined || address === 0) return []
  const cursor = copyCursor(await objects.heap.object(address, object))
  const version = cursor.version('the mappings of a virtual array', [0, 1])
  const count = cursor.length()
  if (count > LIMITS.mappings) refuse(`a virtual array has ${count} mappings, at most ${LIMITS.mappings} are read`, count)
  const mappings: Mapping[] = []
  for (let i = 0; i < count; i++) {
    const flags = version === 0 ? 0 : cursor.u8()
    if (flags > 7) refuse(`a mapping of a virtual array has the flags ${flags}, which are not read here`, flags)
    const file = flags & OWN_FILE ? ['.'] : flags & SAME_FILE ? earlier(mappings, cursor).file : parseName(cursor)
    const array = flags & SAME_ARRAY ? earlier(mappings, cursor).array : parseName(cursor)
    mappings.push({ file, array, source: parseStoredSelection(cursor), target: parseStoredSelection(cursor) })
  }
  checkSum(cursor.bytes.subarray(0, cursor.at + 4), cursor.start, 'the mappings of a virtual array')
  return mappings
}

/** Returns the mapping whose name a later one has, too. */
function earlier(mappings: readonly Mapping[], cursor: Cursor): Mapping {
  const { position } = cursor
  const number = cursor.length()
  return mappings[number] ?? damaged(`a mapping has the name of mapping ${number}, which is not before it`, position, number)
}

/** Parses a name, in which `%b` stands for the number of a block, and `%%` for a percent sign. */
function parseName(cursor: Cursor): NamePattern {
  const { position } = cursor
  const parts = ['']
  for (const piece of cursor.terminated().split(/(%b|%%)/)) {
    if (piece === '%b') parts.push('')
    else parts[parts.length - 1] += piece === '%%' ? '%' : piece
  }
  if (parts.every((part) => part === '')) damaged('a source of a virtual array has no name', position)
  return parts
}

/** Returns the name of a block. */
export const nameOfBlock = (pattern: NamePattern, block: number): string => pattern.join(String(block))

export const isPattern = ({ file, array }: Mapping): boolean => file.length > 1 || array.length > 1
