import { type OpenTreeOptions, openTree } from './open-tree.ts'

/**
 * Returns the version of what is at a place, which it opens for this.
 * @param paths arrays and groups of a Zarr store, with the groups above them
 */
export async function sourceVersion(
  location: string,
  paths: Iterable<string>,
  options: Pick<OpenTreeOptions, 'signal' | 'notFound'> = {},
): Promise<string> {
  await using tree = await openTree(location, options)
  return await tree.version(paths)
}
