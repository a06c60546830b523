import { type HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { type Directory, readImageDirectory, TagValues } from './directory.ts'
import { damagedTiff } from './errors.ts'
import { TIFF_LIMITS } from './limits.ts'
import { TAG } from './tags.ts'
import type { TiffBytes } from './tiff-bytes.ts'

/** A directory with its values, or the reason why it cannot be read. */
export type Header = { readonly directory: Directory; readonly tags: TagValues } | { readonly error: HyperslabError }

/** Directories that belong to one image. */
export interface ImageHeaders {
  readonly main: Header
  /** The same image with fewer pixels. */
  readonly levels: Header[]
  /** Masks of the image and of its levels. */
  readonly masks: Header[]
}

/** Bits of the type of a directory. */
const REDUCED = 1
const MASK = 4

/**
 * Reads the directories of a file, and groups them by image.
 * @throws FormatError if the first directory cannot be read
 */
export async function readImages(file: TiffBytes): Promise<ImageHeaders[]> {
  if (file.first === 0) damagedTiff('there is no directory of an image', 0)
  const headers = await readChain(file, file.first, new Set(), 0)
  const images: ImageHeaders[] = []
  for (const header of headers) {
    const current = images.at(-1)
    const type = 'tags' in header ? (header.tags.number(TAG.subfileType) ?? 0) : 0
    if (current !== undefined && type & MASK) current.masks.push(header)
    else if (current !== undefined && type & REDUCED && belongsTo(header, current.main)) current.levels.push(header)
    else images.push({ main: header, levels: [], masks: [] })
  }
  return images
}

function belongsTo(level: Header, main: Header): boolean {
  if (!('tags' in level && 'tags' in main)) return false
  const number = ({ tags }: { tags: TagValues }, tag: number, other: number): number => tags.number(tag) ?? other
  return (
    number(level, TAG.width, 0) <= number(main, TAG.width, 0) &&
    number(level, TAG.height, 0) <= number(main, TAG.height, 0) &&
    number(level, TAG.samples, 1) === number(main, TAG.samples, 1)
  )
}

/** Reads a chain of directories, each followed by those that it contains. */
async function readChain(file: TiffBytes, first: number, visited: Set<number>, depth: number): Promise<Header[]> {
  const found: Promise<Header[]>[] = []
  for (let offset = first; offset !== 0; ) {
    const isFirst = visited.size === 0
    try {
      const directory = await visit(file, offset, visited)
      found.push(readHeader(file, directory, visited, depth))
      offset = directory.next
    } catch (error) {
      if (isFirst) throw error
      found.push(Promise.resolve([{ error: ofFormat(error) }]))
      break
    }
  }
  return (await Promise.all(found)).flat()
}

async function visit(file: TiffBytes, offset: number, visited: Set<number>): Promise<Directory> {
  if (visited.has(offset)) damagedTiff(`the chain of directories has a loop at byte ${offset}`, offset)
  if (visited.size >= TIFF_LIMITS.directories)
    damagedTiff(`there are more than ${TIFF_LIMITS.directories} directories`, visited.size)
  visited.add(offset)
  return readImageDirectory(file, offset)
}

async function readHeader(file: TiffBytes, directory: Directory, visited: Set<number>, depth: number): Promise<Header[]> {
  try {
    const tags = await TagValues.read(file, directory)
    const inner = tags.numbers(TAG.subDirectories) ?? []
    if (inner.length > 0 && depth >= TIFF_LIMITS.depth)
      damagedTiff(`directories are nested more than ${TIFF_LIMITS.depth} levels deep`, depth)
    const headers: Header[] = [{ directory, tags }]
    for (const offset of inner) headers.push(...(await readInner(file, offset, visited, depth + 1)))
    return headers
  } catch (error) {
    return [{ error: ofFormat(error) }]
  }
}

/**
 * Reads one directory within another, which may lead to more of them. The tag of the outer one lists all of
 * its inner ones, and not all writers chain these.
 */
async function readInner(file: TiffBytes, offset: number, visited: Set<number>, depth: number): Promise<Header[]> {
  try {
    return await readHeader(file, await visit(file, offset, visited), visited, depth)
  } catch (error) {
    return [{ error: ofFormat(error) }]
  }
}

/** Returns an error of the file's content; throws others, such as those of requests. */
function ofFormat(error: unknown): HyperslabError {
  if (isHyperslabError(error, 'FormatError', 'UnsupportedError')) return error
  throw error
}
