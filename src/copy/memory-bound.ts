import { HyperslabError } from '../core/errors.ts'
import { MemoryBudget } from '../core/memory-budget.ts'
import { Pool } from '../pool/pool.ts'
import { threads } from '../pool/spawn.ts'

const MiB = 2 ** 20
/** Memory of the runtime, the code and its caches, before anything is read. */
const BASE_BYTES = 160 * MiB
/** Default memory of commands. */
const DEFAULT_MEMORY = 1024 * MiB
/** Least memory that is accepted. */
const LEAST_MEMORY = 256 * MiB
/** Memory of a worker, with the blocks that it decodes. */
const WORKER_BYTES = 128 * MiB

/** Resources for reading and copying within a memory limit. */
export interface MemoryShares {
  /** Bytes of elements that a copy may hold in memory. */
  readonly maxBytes: number
  /** Memory of reads. */
  readonly budget: MemoryBudget
  /** Threads that decode. The caller closes it. */
  readonly pool: Pool
}

/**
 * Divides the memory of a process.
 * @throws InvalidArgumentError for less than 256 MiB
 */
export function shareMemory(memory = DEFAULT_MEMORY): MemoryShares {
  if (memory < LEAST_MEMORY) {
    const text = `memory of ${memory} bytes is too little: the least is ${LEAST_MEMORY / MiB} MiB, ${LEAST_MEMORY} bytes`
    throw new HyperslabError('InvalidArgumentError', text, { actual: memory, expected: LEAST_MEMORY })
  }
  const rest = memory - BASE_BYTES
  const workers = Math.max(1, Math.min(threads(), 8, Math.floor(memory / WORKER_BYTES)))
  return { maxBytes: Math.floor(rest / 2), budget: new MemoryBudget(rest), pool: new Pool({ size: workers }) }
}
