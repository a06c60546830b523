import { HyperslabError } from '../../../core/errors.ts'
import { checkPath, groupsAbove } from '../hierarchy.ts'
import { METADATA } from '../metadata-names.ts'

/** Names of the metadata objects whose presence makes a path an array or a group. Version 3 comes first. */
export const NODE_DOCUMENTS = METADATA.slice(0, 3)
/** Prefix of the names of this package's own objects in a store. */
const OWN = '.hyperslab-'
/** Name of the folder of intermediate arrays in a target. */
export const SCRATCH = `${OWN}scratch/`
/** Name of the record of a write in the folder of its target. */
export const RECORD_NAME = `${OWN}plan.json`

/** Whether an object belongs to this package, such as the claim of a process that appends. */
export const isOwnName = (name: string): boolean => name.startsWith(OWN) || name.includes(`/${OWN}`)

/**
 * @throws InvalidArgumentError for a path that leads out of the hierarchy, or that is a name of metadata or
 *   of this package's own objects
 */
export function checkNodeName(path: string, label: { readonly file?: string; readonly array: string }): void {
  const refuse = (text: string): never => {
    throw new HyperslabError('InvalidArgumentError', text, { ...label, actual: path })
  }
  checkPath(path, refuse)
  if (path === '' || path.split('/').some((name) => METADATA.includes(name) || name.startsWith(OWN)))
    refuse(`nothing can have the name '${path}'`)
}

/**
 * Checks the paths of all arrays and groups of a new hierarchy together. The path of the root is ''.
 * @throws InvalidArgumentError for paths that lead out of the hierarchy, occur twice, or lie in an array
 */
export function checkNodeNames(arrays: readonly string[], groups: Iterable<string>): void {
  const known = new Set<string>()
  for (const path of arrays) {
    if (path !== '') checkNodeName(path, { array: path })
    if (known.has(path))
      throw new HyperslabError('InvalidArgumentError', `two arrays have the path '${path}'`, { array: path, actual: path })
    known.add(path)
  }
  const inside = (path: string, above: string): never => {
    const text = `'${path}' cannot lie in '${above}', which is an array`
    throw new HyperslabError('InvalidArgumentError', text, { array: path, actual: path })
  }
  const check = (path: string): void => {
    for (const above of path === '' ? [] : ['', ...groupsAbove(path)]) if (known.has(above)) inside(path, above)
  }
  arrays.forEach(check)
  for (const path of groups) {
    if (path !== '') checkNodeName(path, { array: path })
    if (known.has(path) && path !== '') inside(path, path)
    check(path)
  }
}
