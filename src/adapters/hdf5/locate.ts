import { HyperslabError } from '../../core/errors.ts'
import { refuse } from './cursor.ts'
import { LIMITS } from './limits.ts'
import { checkFollowed } from './messages/link.ts'
import { findMessage, MESSAGE, type ObjectHeader } from './object-header.ts'
import type { Objects } from './objects.ts'

/** An object that a path leads to. */
export interface Located {
  readonly header: ObjectHeader
  /** Addresses of the groups that the path leads through, the root first, the object last. */
  readonly chain: readonly number[]
  /** Names behind an array, which are fields of its elements. */
  readonly fields: readonly string[]
}

/**
 * Follows a path from the root.
 * @returns undefined if there is no such object
 * @throws UnsupportedError for links that are not followed, or that lead nowhere or in a circle
 */
export async function locate(objects: Objects, root: number, names: readonly string[]): Promise<Located | undefined> {
  return follow(objects, root, [], names, { soft: 0 })
}

interface Count {
  soft: number
}

/** @param base names of the group at which the path starts */
async function follow(
  objects: Objects,
  root: number,
  base: readonly string[],
  names: readonly string[],
  count: Count,
): Promise<Located | undefined> {
  const path = [...base, ...names]
  if (path.length > LIMITS.pathNames) refuse(`a path has ${path.length} names, at most ${LIMITS.pathNames} are followed`)
  let header = await objects.header(root)
  const chain = [root]
  for (const [at, name] of path.entries()) {
    if (isArray(header)) return { header, chain, fields: path.slice(at) }
    if (objects.classify(header) !== 'group') return undefined
    const link = (await objects.links(header)).get(name)
    if (link === undefined) return undefined
    checkFollowed(link)
    const here = `/${path.slice(0, at + 1).join('/')}`
    if (link.kind === 'hard') header = await objects.header(link.address)
    else header = (await followSoft(objects, root, path.slice(0, at), link.target, here, count)).header
    if (chain.includes(header.address)) refuse(`the link '${here}' leads back to a group that contains it`)
    chain.push(header.address)
  }
  return { header, chain, fields: [] }
}

const isArray = (header: ObjectHeader): boolean => findMessage(header, MESSAGE.layout) !== undefined

async function followSoft(
  objects: Objects,
  root: number,
  group: readonly string[],
  target: string,
  here: string,
  count: Count,
): Promise<Located> {
  if (++count.soft > LIMITS.softLinks)
    refuse(`the soft link '${here}' leads through more than ${LIMITS.softLinks} others, perhaps in a circle`)
  const names = target.split('/').filter((name) => name !== '' && name !== '.')
  const found = await follow(objects, root, target.startsWith('/') ? [] : group, names, count)
  if (found !== undefined && found.fields.length === 0) return found
  return refuse(`the soft link '${here}' leads to '${target}', where there is nothing`)
}

/** @throws UnknownArrayError, always */
export function unknownNode(path: string, file: string, names: readonly string[]): never {
  const text = `there is no such array or group; there are ${names.join(', ') || 'none'}`
  throw new HyperslabError('UnknownArrayError', text, { file, array: path, actual: path, expected: names })
}
