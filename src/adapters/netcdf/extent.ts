import { HyperslabError } from '../../core/errors.ts'

const DIMENSIONS = 10
const VARIABLES = 11
const ATTRIBUTES = 12
/** Bytes of an attribute's values by type, from 1 for byte to 6 for double. */
const TYPE_BYTES = [0, 1, 1, 2, 4, 4, 8]
/** The prefix of the file ends before the header, or the header is broken where the parser stops, too. */
const SHORT = Symbol('short')
const BROKEN = Symbol('broken')

/**
 * Whether the parser may be given a prefix of a classic file: it allocates what counts announce before it
 * looks whether that is there. Goes through the lists without keeping anything of them.
 * @returns false when the prefix ends before the header does
 * @throws FormatError when a count announces more than the file has bytes for
 */
export function holdsHeader(prefix: Uint8Array, fileBytes: number): boolean {
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength)
  // Magic and number of records.
  let at = 8
  const word = (): number => {
    if (at + 4 > prefix.length) throw SHORT
    at += 4
    return view.getUint32(at - 4)
  }
  const count = (leastBytes: number): number => {
    const items = word()
    if (items * leastBytes <= fileBytes - at) return items
    const text = `the header is truncated: it does not end within the ${fileBytes} bytes of the file`
    throw new HyperslabError('FormatError', text, { actual: fileBytes })
  }
  const skip = (bytes: number): void => {
    at += Math.ceil(bytes / 4) * 4
    if (at > prefix.length) throw SHORT
  }
  const list = (tag: number, leastBytes: number, item: () => void): void => {
    const found = word()
    if (found !== tag && found !== 0) throw BROKEN
    // Of an empty list the count is 0 in all files that are whole.
    const items = found === 0 ? 0 * word() : count(leastBytes)
    for (let i = 0; i < items; i++) item()
  }
  const name = (): void => skip(count(1))
  const attributes = (): void =>
    list(ATTRIBUTES, 12, () => {
      name()
      const bytes = TYPE_BYTES[word()]
      if (!bytes) throw BROKEN
      skip(bytes * count(bytes))
    })
  try {
    list(DIMENSIONS, 8, () => {
      name()
      word()
    })
    attributes()
    list(VARIABLES, 28, () => {
      name()
      skip(4 * count(4))
      attributes()
      // Type, size and offset, which version 2 has in 64 bits.
      skip(prefix[3] === 2 ? 16 : 12)
    })
  } catch (error) {
    if (error === SHORT) return false
    if (error !== BROKEN) throw error
  }
  return true
}
