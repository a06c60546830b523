import type { DiskArray } from '../array/disk-array.ts'
import { flatGroup } from '../array/flat-group.ts'
import type { OpenedNodes } from '../array/nodes.ts'
import { type HyperslabError, isHyperslabError } from '../core/errors.ts'
import type { StoredAt } from '../store/store.ts'
import { ArrayFile, type LayerInfo } from './file.ts'
import { isNested } from './format/definition.ts'
import type { OpenOptions } from './layers/file-options.ts'
import { Paths } from './layers/paths.ts'
import { besideText } from './layers/stack.ts'

/** Opens a container as a group of its arrays. */
export async function openContainerNodes({ store, path }: StoredAt, options: OpenOptions): Promise<OpenedNodes<LayerInfo>> {
  const file = await ArrayFile.open(store, path, options)
  const paths = new Paths(path)
  let nested: Map<string, HyperslabError> | undefined
  // Asked for when arrays are listed, because it makes the state of each.
  const unreadable = (): Map<string, HyperslabError> => {
    nested ??= nestedArrays(file)
    return nested
  }
  const root = flatGroup({
    label: file.location,
    title: 'container',
    attrs: file.attrs,
    names: () => file.arrays().filter((name) => !unreadable().has(name)),
    array: (name) => {
      const array = file.array(name)
      return {
        array: array as unknown as DiskArray,
        attrs: array.attrs,
        storage: async () => {
          const { chunks, uncompressedBytes, compressedBytes } = array.storage()
          return { chunkShape: array.chunks.chunkShape, storedChunks: chunks, bytes: uncompressedBytes, compressedBytes }
        },
        statistics: () => file.stats(name),
      }
    },
    unreadable,
  })
  return {
    root,
    warnings: file.warnings(),
    versionKeys: () => file.layers().map(({ number }) => (number === 0 ? path : paths.sidecar(number))),
    layers: () => file.layers(),
    checkBeside: () => warningsBeside({ store, path }, file),
    close: () => file.close(),
  }
}

/** Returns the names of arrays of nested types, which are not read, with the reasons. */
function nestedArrays(file: ArrayFile): Map<string, HyperslabError> {
  const found = new Map<string, HyperslabError>()
  for (const { definition } of file.stored.states) {
    if (!isNested(definition)) continue
    try {
      file.array(definition.name)
    } catch (error) {
      if (!isHyperslabError(error, 'UnsupportedError')) throw error
      found.set(definition.name, error)
    }
  }
  return found
}

/**
 * Looks for a sidecar beside a file of footer version 6 in a place that cannot be listed. In other places
 * opening the file has found it.
 */
async function warningsBeside({ store, path }: StoredAt, file: ArrayFile): Promise<string[]> {
  if (store.list !== undefined || store.seesOneFile || file.layers()[0]!.version !== 6) return []
  const sidecar = new Paths(path).sidecar(1)
  try {
    if ((await store.stat(sidecar)) === undefined) return []
    return [`${store.describe(sidecar)}: ${besideText({ immutable: true })}`]
  } catch (error) {
    // A server that refuses to tell hides no data: nothing of a sidecar would be read.
    if (isHyperslabError(error)) return []
    throw error
  }
}
