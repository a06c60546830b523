import { HyperslabError } from '../core/errors.ts'

/** Formats that are known and not read: first bytes of their files, name, and advice. */
const REFUSED: readonly (readonly [readonly string[], string, string])[] = [
  [['GRIB'], 'GRIB', 'convert it to Zarr with cfgrib and xarray'],
  [['BUFR'], 'BUFR', 'convert it with ecCodes: bufr_dump or pdbufr'],
  [['SIMPLE  '], 'FITS', 'convert it to Zarr with astropy and zarr.save'],
  [['\x0e\x03\x13\x01'], 'HDF4', 'convert it to HDF5: h4toh5'],
  [['\x93NUMPY'], 'NumPy', 'convert it with zarr.save'],
  [
    ['\x80\x02', '\x80\x03', '\x80\x04\x95', '\x80\x05\x95'],
    'a Python pickle',
    'load it in Python, and convert it with zarr.save',
  ],
  [['\x1f\x8b'], 'compressed by gzip', 'decompress it: gunzip'],
  [['BZh'], 'compressed by bzip2', 'decompress it: bunzip2'],
  [['\xfd7zXZ\0'], 'compressed by xz', 'decompress it: unxz'],
  [['\x28\xb5\x2f\xfd'], 'compressed by zstd', 'decompress it: unzstd'],
  [['PAR1'], 'Parquet', 'it holds tables; read it with a reader of these'],
  [['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'], 'Excel', 'save its sheet as CSV, read that into arrays, and pass them to new Dataset'],
  [['\x89PNG\r\n\x1a\n'], 'a PNG picture', 'decode it with a reader of pictures'],
  [['\xff\xd8\xff'], 'a JPEG picture', 'decode it with a reader of pictures'],
  [['%PDF-'], 'PDF', 'it is a document; ask its author for the data'],
  [['Dataset '], 'an answer of DODS (OPeNDAP)', 'ask the server for NetCDF: end the URL with .nc or .nc4'],
]
/** First bytes of pages. */
const PAGE = /^\s*<(!doctyp|html|head|body|\?xml)/i

const TABLE = 'read it into arrays, and pass them to new Dataset'
/** Bytes before the name of the first file of an archive. */
const NAME_OFFSET = 30
/** Name of the first file in the archives of office programs. */
const OFFICE = '[Content_Types].xml'

/**
 * Refuses formats that are known and not read.
 * @param head first bytes, as characters
 * @param start more of the first bytes, if they are known
 * @param isFile whether the place is no folder, which a server may show as a page
 * @throws UnsupportedError with advice
 */
export function refuseUnread(
  head: string,
  start: Uint8Array | undefined,
  { isFile, file }: { isFile: boolean; file: string },
): void {
  const refuse = (text: string): never => {
    throw new HyperslabError('UnsupportedError', text, { file })
  }
  const [, name, advice] = findRefused(head) ?? []
  if (name !== undefined) refuse(`this is ${name}, which is not read here; ${advice}`)
  if (isFile && PAGE.test(head))
    refuse('this is a page (HTML or XML), not data; servers show one instead of a missing file: open the address in a browser')
  if (start === undefined) return
  if (head.startsWith('PK') && toCharacters(start.subarray(NAME_OFFSET, NAME_OFFSET + OFFICE.length)) === OFFICE)
    refuse(`this is a file of Excel or another office program, which is not read here; save its sheet as CSV, ${TABLE}`)
  if (isTable(start)) refuse(`this is a text table, which cannot be read here; ${TABLE}`)
}

/** Returns the name of a format that is not read; undefined for other files. */
export const nameOfRefused = (head: string): string | undefined => findRefused(head)?.[1]

const findRefused = (head: string): (typeof REFUSED)[number] | undefined =>
  REFUSED.find(([starts]) => starts.some((start) => head.startsWith(start)))

const toCharacters = (bytes: Uint8Array): string => String.fromCharCode(...bytes)

/** Whether the first two lines are printable, and have the same number of separators. */
function isTable(start: Uint8Array): boolean {
  const lines = toCharacters(start.subarray(0, 4096)).split(/\r?\n/)
  const [first = '', second = ''] = lines
  // biome-ignore lint/suspicious/noControlCharactersInRegex: texts do not have these
  if (lines.length < 2 || /[\0-\x08\x0e-\x1f\x7f]/.test(first + second)) return false
  return [',', ';', '\t'].some((mark) => first.includes(mark) && first.split(mark).length === second.split(mark).length)
}
