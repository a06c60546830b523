import { refuse } from './cursor.ts'
import { LIMITS } from './limits.ts'
import type { Link } from './messages/link.ts'
import type { ObjectHeader } from './object-header.ts'

/** The objects of a file. */
interface LinkedObjects {
  header(address: number): Promise<ObjectHeader>
  classify(header: ObjectHeader): string
  links(header: ObjectHeader): Promise<ReadonlyMap<string, Link>>
}

/**
 * Returns the paths of all objects that hard links lead to, by the addresses of the objects. An object with
 * several paths has one with the fewest names.
 */
export async function readPaths(objects: LinkedObjects, root: number): Promise<ReadonlyMap<number, string>> {
  const paths = new Map([[root, '/']])
  for (let level = [root]; level.length > 0; ) {
    const groups = await Promise.all(
      level.map(async (address) => {
        const header = await objects.header(address)
        return { address, links: objects.classify(header) === 'group' ? await objects.links(header) : new Map<never, never>() }
      }),
    )
    level = []
    for (const { address, links } of groups)
      for (const [name, link] of links) {
        if (link.kind !== 'hard' || paths.has(link.address)) continue
        if (paths.size >= LIMITS.entries) refuse(`the file has more than ${LIMITS.entries} objects that references can lead to`)
        paths.set(link.address, `${address === root ? '' : paths.get(address)}/${name}`)
        level.push(link.address)
      }
  }
  return paths
}
