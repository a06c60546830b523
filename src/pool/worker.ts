// What a worker runs: bundled into one file, dist/worker.js, and embedded as text by
// scripts/embed-worker.mjs.
import { useComputeModule } from '../kernels/compute.ts'
import { useKernels } from '../kernels/instance.ts'
import { instantiate } from '../kernels/module.ts'
import { perform, type TaskRequest } from './perform.ts'

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

const scope = globalThis as unknown as Partial<Port>
const port =
  typeof scope.postMessage === 'function' ? (scope as Port) : process.getBuiltinModule('node:worker_threads').parentPort

port.onmessage = ({ data }) => {
  if ('module' in (data as Hello)) {
    const { module, compute } = data as Hello
    useKernels(instantiate(module))
    if (compute !== undefined) useComputeModule(compute)
    port.postMessage({ ready: true }, [])
    return
  }
  const reply = perform(data as TaskRequest)
  port.postMessage(reply, [reply.buffer])
}
