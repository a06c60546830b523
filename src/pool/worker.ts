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

/** The first message. */
export interface Hello {
  /** The compiled kernels; without a second module where the first has all. */
  readonly module: object
  readonly compute: object | undefined
}

declare const process: { getBuiltinModule(name: string): { readonly parentPort: Port } }

/**
 * Answers what the thread asks that has started this one.
 * @param make makes a codec of what that thread says of its own, and loads what it needs
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
