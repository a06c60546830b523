// From a place that a user names to a dataset, with what that costs.
import { createPool, OpfsStore, type WorkerPool } from 'hyperslab'
import { type Dataset, openDataset } from 'hyperslab/dataset'
import { NearReads } from './near-reads.ts'

/** An address, files that were picked together, or a folder. */
export type Source = string | readonly File[] | FileSystemDirectoryHandle

/** What has been read over the network. */
export interface Cost {
  requests: number
  bytes: number
}

type Place = Parameters<typeof openDataset>[0]

let pool: WorkerPool | undefined

/**
 * Opens what `openDataset` takes.
 * @param onCost told of requests as they are answered
 */
export function openSource(source: Source, onCost: (cost: Cost) => void, signal: AbortSignal): Promise<Dataset> {
  pool ??= createPool()
  return openDataset(locate(source, onCost), { signal, pool })
}

function locate(source: Source, onCost: (cost: Cost) => void): Place {
  if (typeof source === 'string') {
    if (source.startsWith('s3:')) return source
    // The query is that of the store, which sends it for what lies beside the file, too.
    const { origin, pathname, search } = new URL(source, location.href)
    const store = new NearReads({
      query: search.slice(1),
      onRequest: ({ bytes, attempts }) => onCost({ requests: attempts, bytes }),
    })
    return { store, path: origin + pathname }
  }
  if ('kind' in source) return { store: new OpfsStore(source as never), path: '' }
  return source.length === 1 ? source[0]! : source
}

/** What was dropped: files, or a folder where the browser gives it. */
export async function droppedSource(transfer: DataTransfer): Promise<Source | undefined> {
  const files = [...transfer.files]
  const [item] = transfer.items as unknown as Iterable<{ getAsFileSystemHandle?(): Promise<FileSystemHandle | null> }>
  const handle = await item?.getAsFileSystemHandle?.()
  if (handle?.kind === 'directory') return handle as FileSystemDirectoryHandle
  return files.length > 0 ? files : undefined
}
