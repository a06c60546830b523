/** Names of compressions by TIFF number. A codec of the user replaces the one of its name. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [1, 'none'],
  [2, 'ccitt-rle'],
  [3, 'ccitt-fax3'],
  [4, 'ccitt-fax4'],
  [5, 'lzw'],
  [6, 'old-jpeg'],
  [7, 'jpeg'],
  [8, 'deflate'],
  [32773, 'packbits'],
  [32809, 'thunderscan'],
  [32946, 'deflate'],
  [34661, 'jbig'],
  [34676, 'sgilog'],
  [34677, 'sgilog24'],
  [34712, 'jpeg2000'],
  [34887, 'lerc'],
  [34892, 'lossy-jpeg'],
  [34925, 'lzma'],
  [50000, 'zstd'],
  [50001, 'webp'],
  [50002, 'jpegxl'],
  [52546, 'jpegxl'],
])

/** Compressions that are decoded here, in every runtime. */
export const READ = ['none', 'lzw', 'packbits', 'deflate', 'zstd'] as const
export type ReadCompression = (typeof READ)[number]

/** Numbers of samples of a tile that the platform's decoder of pictures may read, by compression. */
const PICTURES: Readonly<Record<string, readonly number[]>> = { jpeg: [1, 3], webp: [3, 4] }

// Browsers have this class in secure contexts. No library that is loaded without the DOM declares it.
declare const ImageDecoder: unknown

/** Whether tiles of bytes are pictures that the platform may decode. */
export const isPicture = (name: string, samples: number): boolean =>
  typeof ImageDecoder === 'function' && PICTURES[name]?.includes(samples) === true

/** Whether the platform's decoder of pictures may read some tiles of a compression. */
export const isPictureFormat = (name: string): boolean => PICTURES[name] !== undefined

/** Returns the name of a compression, else its number as text. */
export const compressionName = (id: number): string => NAMES.get(id) ?? String(id)

export const isRead = (name: string): name is ReadCompression => (READ as readonly string[]).includes(name)
