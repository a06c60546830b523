/** The used part of a web worker, or of a worker of `node:worker_threads`. */
export interface WorkerLike {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void
  terminate(): unknown
  // biome-ignore lint/suspicious/noExplicitAny: overloads of both kinds have to fit, whose events differ
  addEventListener?(type: string, listener: (event: any) => void): void
  // biome-ignore lint/suspicious/noExplicitAny: as above
  on?(type: string, listener: (value: any) => void): unknown
  /** Keeps the process alive while the worker runs. */
  ref?(): unknown
  unref?(): unknown
}

type WorkerClass = new (source: string, options: { readonly type?: 'module'; readonly eval?: boolean }) => WorkerLike

declare const process:
  | { getBuiltinModule?(name: string): { readonly Worker: WorkerClass }; versions?: { bun?: string } }
  | undefined
declare const Worker: WorkerClass | undefined

/**
 * Starts a worker from the source embedded in the package, which only this function loads.
 * @throws if the runtime has no workers, or forbids them
 */
export async function spawn(): Promise<WorkerLike> {
  if (isWorkerOfFirefox()) throw new Error('what Firefox starts from a worker does not always run')
  const { WORKER_TEXT } = await import('./worker.generated.ts')
  // In Deno, only this kind lets the process end; in Bun, it does not answer.
  const node =
    typeof process === 'undefined' || process.versions?.bun ? undefined : process.getBuiltinModule?.('node:worker_threads')
  if (node !== undefined) return new node.Worker(WORKER_TEXT, { eval: true })
  if (typeof Worker === 'undefined') throw new Error('there are no workers here')
  const url = URL.createObjectURL(new Blob([WORKER_TEXT], { type: 'text/javascript' }))
  const revoke = (): void => URL.revokeObjectURL(url)
  try {
    const worker = new Worker(url, { type: 'module' })
    // The URL is revoked once the worker is loaded, which its first message shows.
    for (const type of ['message', 'error']) worker.addEventListener!(type, revoke)
    return worker
  } catch (error) {
    revoke()
    throw error
  }
}

/** Whether this is a worker in Firefox, where about one nested worker in twenty never answers. */
function isWorkerOfFirefox(): boolean {
  const { WorkerGlobalScope, navigator } = globalThis as { WorkerGlobalScope?: unknown; navigator?: { userAgent?: string } }
  return WorkerGlobalScope !== undefined && (navigator?.userAgent ?? '').includes('Firefox')
}

export function threads(): number {
  const { hardwareConcurrency } = (globalThis as { navigator?: { hardwareConcurrency?: number } }).navigator ?? {}
  if (hardwareConcurrency !== undefined) return hardwareConcurrency
  const os = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('node:os')
  return (os as { availableParallelism?(): number } | undefined)?.availableParallelism?.() ?? 1
}
