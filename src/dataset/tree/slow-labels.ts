import type { ArrayNode } from '../../array/nodes.ts'

/** Most requests for the labels of a group that need no warning. */
const MOST_REQUESTS = 32

/** Returns a warning for each group whose labels are in so many chunks that opening takes many requests. */
export async function warnOfSlowLabels(arrays: readonly ArrayNode[], file: string): Promise<string[]> {
  const groups = new Map<string, { total: number; names: string[] }>()
  for (const { name, path, array } of arrays) {
    const isLabels = array.rank === 1 && array.dimensionNames?.[0] === name
    if (!isLabels || array.chunks.count < 2) continue
    const { requests = 0 } = await array.plan()
    const group = path.slice(0, -name.length)
    const found = groups.get(group) ?? { total: 0, names: [] }
    groups.set(group, { total: found.total + requests, names: [...found.names, name] })
  }
  return [...groups.values()]
    .filter(({ total }) => total > MOST_REQUESTS)
    .map(
      ({ total, names }) =>
        `${file}: opening takes ${total} requests, because the labels of ${names.join(', ')} are in small chunks; a copy opens faster: hyperslab export ${file} new.zarr`,
    )
}
