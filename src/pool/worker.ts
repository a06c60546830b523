import type { Codec, KernelCodec } from '../codec/codec.ts'
import { useComputeModule } from '../kernels/compute.ts'
import { useKernels } from '../kernels/instance.ts'
import { instantiate } from '../kernels/module.ts'
import { perform, type Reply, type TaskRequest } from './perform.ts'
import { performWith } from './remote.ts'

interface Port {
  onmessage: ((event: { readonly data: unknown }) => void) | null
  postMessage(message: unknown, transfer: ArrayBuffer[]): void
}

/** First message to a worker. */
export interface Hello {
  /** Compiled kernels; the second module is undefined if the first is complete. */
  readonly module: object
  readonly compute: object | undefined
}

declare const process: { getBuiltinModule(name: string): { readonly parentPort: Port } }

/**
 * Serves the tasks of the thread that started this worker.
 * @param make creates a codec from that thread's data, and loads what it needs
 */
export function answerTasks(make: (spec: object) => Promise<Codec | KernelCodec>): void {
  const scope = globalThis as unknown as Partial<Port>
  const port =
    typeof scope.postMessage === 'function' ? (scope as Port) : process.getBuiltinModule('node:worker_threads').parentPort
  const answer = (reply: Reply): void => port.postMessage(reply, [reply.buffer])
  port.onmessage = ({ data }) => {
    if ('module' in (data as Hello)) {
      const { module, compute } = data as Hello
      useKernels(instantiate(module))
      if (compute !== undefined) useComputeModule(compute)
      port.postMessage({ ready: true }, [])
      return
    }
    const request = data as TaskRequest
    if (request.codec === undefined) answer(perform(request))
    else performWith(make, request).then(answer)
  }
}
