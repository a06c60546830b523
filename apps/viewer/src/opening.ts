// Opens the place that a user names, and reports the cost.
import { OpfsStore } from 'hyperslab'
import type { openDataset } from 'hyperslab/dataset'
import { Hierarchy, type HierarchyOptions } from './hierarchy.ts'
import { NearReads } from './near-reads.ts'

/** An address, files that were picked together, or a folder. */
export type Source = string | readonly File[] | FileSystemDirectoryHandle

/** Amount of data read over the network. */
export interface Cost {
  requests: number
  bytes: number
}

type Place = Parameters<typeof openDataset>[0]

/** Names of files that contain no pyramids. */
const WITHOUT_LEVELS = /\.(af|nc|nc3|nc4|cdf|h5|hdf5|mat)$/i

/**
 * Opens a place like `openDataset`.
 * @param onCost called with the cost of each answered request
 */
export async function openSource(source: Source, onCost: (cost: Cost) => void, options: HierarchyOptions): Promise<Hierarchy> {
  const place = await locate(source, onCost)
  const name = typeof source === 'string' ? source.replace(/[?#].*/s, '') : 'kind' in source ? '' : source[0]!.name
  return new Hierarchy(place, !WITHOUT_LEVELS.test(name), options)
}

/** Metadata objects of a Zarr store, which identify their folder. */
const METADATA = ['zarr.json', '.zmetadata', '.zgroup', '.zarray']

async function locate(source: Source, onCost: (cost: Cost) => void): Promise<Place> {
  if (typeof source === 'string') {
    if (source.startsWith('s3:')) return source
    // The query belongs to the store, which sends it with requests for other files of the folder, too.
    const { origin, pathname, search } = new URL(source, location.href)
    const store = new NearReads({
      query: search.slice(1),
      onRequest: ({ bytes, attempts }) => onCost({ requests: attempts, bytes }),
    })
    return { store, path: origin + pathname }
  }
  if ('kind' in source) {
    for (const path of METADATA) {
      const isThere = await source.getFileHandle(path).then(Boolean, () => false)
      if (isThere) return { store: new OpfsStore(source as never), path }
    }
    throw new Error(`the folder ${source.name} has none of ${METADATA.join(', ')}, so it is no Zarr store`)
  }
  return source.length === 1 ? source[0]! : source
}

/** Returns the dropped files, or the dropped folder if the browser supports it. */
export async function droppedSource(transfer: DataTransfer): Promise<Source | undefined> {
  const files = [...transfer.files]
  const [item] = transfer.items as unknown as Iterable<{ getAsFileSystemHandle?(): Promise<FileSystemHandle | null> }>
  const handle = await item?.getAsFileSystemHandle?.()
  if (handle?.kind === 'directory') return handle as FileSystemDirectoryHandle
  return files.length > 0 ? files : undefined
}
