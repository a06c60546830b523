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

/** The parts that every plan has, beside its `format`: no code and no secret. */
export interface AnyPlan {
  readonly format: typeof JOB_FORMAT
  /** Version of the plan and of how tasks are done. */
  readonly version: number
  /** The SHA-256 of everything else, so that equal jobs are the same one. */
  readonly id: string
  /** Versions of the objects that the source was opened from. */
  readonly pins: PinnedVersions
  /** The location of a folder for partial results that are too large for a queue. */
  readonly scratch?: string
}

/** An array as it was found when the job was planned: its `dtype`, `shape` and chunks. */
export interface PlannedSource {
  readonly dtype: string
  readonly shape: readonly number[]
  /** Number of its chunks. */
  readonly chunks: number
  /** SHA-256 of where its axes are cut. */
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

/** What a plan says of an array. */
export async function sourceFacts({ dtype, shape, chunks }: DiskArray): Promise<PlannedSource> {
  const grid = await hashOf(gridDocument(chunks))
  return { dtype, shape, chunks: chunks.count, grid, bytes: bytesOf(dtype) * sizeOf(shape) }
}

/** @throws ConflictError where an array is another one than was planned for */
export async function checkSource(array: DiskArray, planned: PlannedSource): Promise<void> {
  const found = await sourceFacts(array)
  if (found.grid === planned.grid && found.dtype === planned.dtype) return
  const text = 'the source has another type, shape or chunks than when the job was planned; plan it again'
  throw new HyperslabError('ConflictError', text, { ...array.source.label, actual: found, expected: planned })
}

/** Checks what has no part that may be left out. */
export function checkParts(where: string, value: unknown, checks: Readonly<Record<string, Check>>): void {
  checkOptions(where, value, checks)
  for (const [name, check] of Object.entries(checks)) checkValue(where, name, (value as Record<string, unknown>)?.[name], check)
}

/** SHA-256 of the canonical text of a value, in hexadecimal digits. */
export const hashOf = (value: JsonValue | object): Promise<string> => sha256(canonical(value as JsonValue))

/** JSON with names in their order, and without what is undefined. */
function canonical(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each as JsonValue)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const named = Object.entries(value).filter(([, each]) => each !== undefined)
  return `{${named
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, each]) => `${JSON.stringify(name)}:${canonical(each as JsonValue)}`)
    .join(',')}}`
}
