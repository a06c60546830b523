import type { CodecMetadata, StoredType } from './metadata.ts'

const SHUFFLES = ['noshuffle', 'shuffle', 'bitshuffle']

/** Describes the codecs of a chunk, in the order of encoding: `delta, blosc lz4 5 shuffle`. */
export const codecWords = (codecs: readonly CodecMetadata[]): string =>
  codecs
    .map(describeCodec)
    .filter((words) => words !== '')
    .join(', ') || 'none'

function describeCodec({ name, configuration }: CodecMetadata): string {
  const words = (...members: unknown[]): string => [name, ...members.filter((member) => member !== undefined)].join(' ')
  const { order, endian, cname, clevel, shuffle, level, checksum } = configuration
  switch (name) {
    case 'bytes':
      return endian === 'big' ? 'big endian' : ''
    case 'transpose':
      return words(Array.isArray(order) ? order.join(',') : order)
    case 'blosc':
      return words(cname, clevel, typeof shuffle === 'number' ? SHUFFLES[shuffle] : shuffle)
    case 'zstd':
      return words(level, checksum === true ? 'checksum' : undefined)
    case 'gzip':
    case 'zlib':
      return words(level)
    default:
      return name
  }
}

const LETTERS: Partial<Record<StoredType['kind'], string>> = { 'fixed-bytes': 'S', 'fixed-text': 'U', raw: 'V' }

/** Describes the stored type of elements, if it differs from the type of reads. */
export function storedTypeWords({ kind, dtype, bytes, unit, element }: StoredType): string | undefined {
  if (element?.isComplex) return `complex${16 * bytes!}`
  if (kind === 'datetime' || kind === 'timedelta') return `${kind}64[${unit}]`
  const letter = LETTERS[kind]
  if (letter !== undefined) return `${letter}${kind === 'fixed-text' ? bytes! / 4 : bytes}`
  const name = kind === 'float' ? `float${8 * bytes!}` : kind === 'bfloat16' ? kind : dtype
  return name === dtype ? undefined : name
}
