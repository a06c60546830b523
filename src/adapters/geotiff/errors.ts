import { HyperslabError } from '../../core/errors.ts'

/** @throws FormatError, always */
export function damagedTiff(text: string, actual?: unknown, expected?: unknown): never {
  throw new HyperslabError('FormatError', `damaged TIFF: ${text}`, { actual, expected })
}

/** @throws UnsupportedError, always */
export function refuseTiff(text: string, actual?: unknown, expected?: unknown): never {
  throw new HyperslabError('UnsupportedError', text, { actual, expected })
}
