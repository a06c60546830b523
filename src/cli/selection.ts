import type { Selection, Selector } from '../grid/selection.ts'
import { type Slice, slice } from '../grid/slice.ts'
import { UsageError } from './failure.ts'

const INTEGER = /^[+-]?\d+$/

/**
 * Parses a selection as in numpy: `0,10:20,::-2`. `:` selects a whole axis, and `...` stands for all
 * remaining axes.
 * @throws UsageError with the piece that is invalid
 */
export function parseSelection(text: string, rank: number): Selection {
  const pieces = text.trim() === '' ? [] : text.split(',').map((piece) => piece.trim())
  const before = pieces.indexOf('...')
  if (before === -1) return pieces.map((piece, i) => parsePiece(piece, i, text))
  if (pieces.indexOf('...', before + 1) !== -1) throw new UsageError(`selection '${text.trim()}' has more than one '...'`)
  const rest = Math.max(0, rank - (pieces.length - 1))
  return pieces.flatMap((piece, i) => (i === before ? new Array<null>(rest).fill(null) : [parsePiece(piece, i, text)]))
}

function parsePiece(piece: string, position: number, text: string): Selector {
  const bad = (why: string): never => {
    throw new UsageError(`selection '${text.trim()}': '${piece}' (axis ${position}) ${why}`)
  }
  if (piece === '') return bad('is empty; write : for a whole axis')
  if (piece === ':') return null
  if (!piece.includes(':')) return INTEGER.test(piece) ? toInteger(piece, bad) : bad('is neither an integer nor start:stop:step')
  const parts = piece.split(':').map((part) => part.trim())
  if (parts.length > 3) bad('has more than two colons')
  const [start, stop, step] = parts.map((part) => {
    if (part === '') return null
    return INTEGER.test(part) ? toInteger(part, bad) : bad(`has '${part}', which is not an integer`)
  })
  if (step === 0) bad('has a step of 0')
  return slice(start ?? null, stop ?? null, step ?? null) as Slice
}

function toInteger(text: string, bad: (why: string) => never): number {
  const value = Number(text)
  // `+ 0` turns -0 into 0.
  return Number.isSafeInteger(value) ? value + 0 : bad('is too large a number')
}

/**
 * Prefixes selections that start with a minus sign with a space, because commander would treat them as
 * options. Parsing ignores the space.
 */
export const protectNegatives = (args: readonly string[]): string[] =>
  args.map((arg) => (/^-\d[-+\d:,.\s]*$/.test(arg) ? ` ${arg}` : arg))

/** Removes the spaces of {@link protectNegatives} from a message of commander. */
export const showNegatives = (message: string): string => message.replaceAll("' -", "'-")

/** Parses axes, written as names or numbers: `time,lat` or `0,-1`. */
export function parseAxes(text: string): (string | number)[] {
  return text.split(',').map((piece) => {
    const axis = piece.trim()
    if (axis === '') throw new UsageError(`axis '${text.trim()}' has an empty name`)
    return INTEGER.test(axis) ? Number(axis) : axis
  })
}
