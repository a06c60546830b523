import { HyperslabError } from '../../core/errors.ts'
import { refuse } from './cursor.ts'
import { LIMITS } from './limits.ts'
import { checkFollowed, type Link } from './messages/link.ts'
import { findMessage, MESSAGE, type ObjectHeader } from './object-header.ts'
import type { OpenFile } from './open-file.ts'

/** A group that a path leads through, or the object at its end. */
interface Step {
  readonly file: OpenFile
  readonly address: number
}

/** An object that a path leads to. */
export interface Located {
  /** File of the object. External links lead to other files. */
  readonly file: OpenFile
  readonly header: ObjectHeader
  /** Groups that the path leads through, the root first, the object last. */
  readonly chain: readonly Step[]
  /** Names behind an array, which are fields of its elements. */
  readonly fields: readonly string[]
}

/** Start of a path: an object, and the names that lead to it in its file, for messages. */
interface Start extends Omit<Located, 'fields'> {
  readonly base: readonly string[]
}

interface Count {
  links: number
}

/** Returns the root group of a file. */
export async function locateRoot(file: OpenFile): Promise<Located> {
  const header = await file.objects.header(file.superblock.root)
  return { file, header, chain: [{ file, address: header.address }], fields: [] }
}

/**
 * Follows a path from the root of a file.
 * @returns undefined if there is no such object
 * @throws UnsupportedError for links that are not followed, or that lead nowhere or in a circle
 */
export async function locate(file: OpenFile, names: readonly string[]): Promise<Located | undefined> {
  return follow({ ...(await locateRoot(file)), base: [] }, names, { links: 0 })
}

async function follow(start: Start, names: readonly string[], count: Count): Promise<Located | undefined> {
  const { file, base } = start
  const path = [...base, ...names]
  if (path.length > LIMITS.pathNames) refuse(`a path has ${path.length} names, at most ${LIMITS.pathNames} are followed`)
  let { header } = start
  const chain = [...start.chain]
  for (const [at, name] of names.entries()) {
    if (isArray(header)) return { file, header, chain, fields: names.slice(at) }
    if (file.objects.classify(header) !== 'group') return undefined
    const link = (await file.objects.links(header)).get(name)
    if (link === undefined) return undefined
    const end = base.length + at
    const found = await followLink({ file, header, chain, base: path.slice(0, end) }, link, count)
    const here = `/${path.slice(0, end + 1).join('/')}`
    if (chain.some((step) => step.file === found.file && step.address === found.header.address))
      refuse(`the link '${here}' leads back to a group that contains it`)
    if (found.file !== file) {
      const beyond = { ...found, chain: [...chain, ...found.chain], base: path.slice(0, end + 1) }
      return follow(beyond, names.slice(at + 1), count)
    }
    header = found.header
    chain.push({ file, address: header.address })
  }
  return { file, header, chain, fields: [] }
}

const isArray = (header: ObjectHeader): boolean => findMessage(header, MESSAGE.layout) !== undefined

/** Follows one link of a group. */
async function followLink(group: Start, link: Link, count: Count): Promise<Located> {
  checkFollowed(link)
  const { file, base } = group
  if (link.kind === 'hard') return { file, header: await file.objects.header(link.address), chain: [], fields: [] }
  const here = `/${[...base, link.name].join('/')}`
  if (++count.links > LIMITS.links)
    refuse(`the link '${here}' leads through more than ${LIMITS.links} others, perhaps in a circle`)
  const names = link.target.split('/').filter((name) => name !== '' && name !== '.')
  if (link.kind === 'external') {
    const what = `the link '${here}' leads to '${link.target}' of the file '${link.file}'`
    const other = await file.openOther(link.file, what)
    if (other === undefined) return refuse(`${what}, and there is no such file`, link.file)
    const found = await follow({ ...(await locateRoot(other)), base: [] }, names, count)
    return found?.fields.length === 0 ? found : refuse(`${what}, where there is nothing`, link.file)
  }
  const start = link.target.startsWith('/') ? { ...(await locateRoot(file)), base: [] } : group
  const found = await follow(start, names, count)
  return found?.fields.length === 0 ? found : refuse(`the soft link '${here}' leads to '${link.target}', where there is nothing`)
}

/** @throws UnknownArrayError, always */
export function unknownNode(path: string, file: string, names: readonly string[]): never {
  const text = `there is no such array or group; there are ${names.join(', ') || 'none'}`
  throw new HyperslabError('UnknownArrayError', text, { file, array: path, actual: path, expected: names })
}
