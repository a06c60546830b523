import type { DiskArray } from '../array/disk-array.ts'
import { bytesOf } from '../array/source.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Check, type Checks, checkOptions, checkValue } from '../core/options.ts'
import { sha256 } from '../core/sha256.ts'
import { sizeOf } from '../core/shape.ts'
import { gridDocument } from '../grid/grid-document.ts'
import type { JsonValue } from './job-operation.ts'
import type { PinnedVersions } from './pins.ts'

export const JOB_FORMAT = 'hyperslab.job'
export const JOB_VERSION = 1

/** Parts of every plan, in addition to its `format`. They contain no code and no secrets. */
export interface AnyPlan {
  readonly format: typeof JOB_FORMAT
  /** Version of the plan and of the task format. */
  readonly version: number
  /** SHA-256 of everything else, so equal jobs have equal ids. */
  readonly id: string
  /** Versions of the objects that the source was opened from. */
  readonly pins: PinnedVersions
  /** Location of a folder for partial results that are too large for a queue. */
  readonly scratch?: string
}

/** An array as it was when the job was planned: its `dtype`, `shape` and chunks. */
export interface PlannedSource {
  readonly dtype: string
  readonly shape: readonly number[]
  /** Number of its chunks. */
  readonly chunks: number
  /** SHA-256 of the chunk boundaries along its axes. */
  readonly grid: string
  /** Bytes of its elements. */
  readonly bytes: number
}

export const SOURCE_CHECKS: Checks<PlannedSource> = {
  dtype: 'string',
  shape: 'list of integers',
  chunks: 'integer from 0',
  grid: 'string',
  bytes: 'integer from 0',
}

/** Returns the description of an array for a plan. */
export async function sourceFacts({ dtype, shape, chunks }: DiskArray): Promise<PlannedSource> {
  const grid = await hashJson(gridDocument(chunks))
  return { dtype, shape, chunks: chunks.count, grid, bytes: bytesOf(dtype) * sizeOf(shape) }
}

/** @throws ConflictError if an array is not the planned one */
export async function checkSource(array: DiskArray, planned: PlannedSource): Promise<void> {
  const found = await sourceFacts(array)
  if (found.grid === planned.grid && found.dtype === planned.dtype) return
  const text = 'the source has another type, shape or chunks than when the job was planned; plan it again'
  throw new HyperslabError('ConflictError', text, { ...array.source.label, actual: found, expected: planned })
}

/** Checks a value of which all parts are required. */
export function checkParts(where: string, value: unknown, checks: Readonly<Record<string, Check>>): void {
  checkOptions(where, value, checks)
  for (const [name, check] of Object.entries(checks)) checkValue(where, name, (value as Record<string, unknown>)?.[name], check)
}

/** Returns the SHA-256 of the canonical text of a value, in hexadecimal digits. */
export const hashJson = (value: JsonValue | object): Promise<string> => sha256(canonical(value as JsonValue))

/** Returns JSON with sorted names, without undefined values. */
function canonical(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each as JsonValue)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const named = Object.entries(value).filter(([, each]) => each !== undefined)
  return `{${named
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, each]) => `${JSON.stringify(name)}:${canonical(each as JsonValue)}`)
    .join(',')}}`
}
