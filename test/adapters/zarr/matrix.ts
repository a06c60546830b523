import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DType } from '../../../src/core/dtype.ts'
import { zarrPython } from '../../support/python.ts'

/** Programs beside this file that write arrays. */
type Script = 'matrix.py' | 'matrix_tensorstore.py' | 'typed.py'

/** A fill value: integers as text, floats as the bits of a float64, bytes as numbers. */
export type MatrixFill = { int: string } | { float: string } | { bool: boolean } | { text: string } | { bytes: number[] }

/** An array that another library has written, and what that says of it. */
export interface MatrixCase {
  /** Its folder, in that of the matrix where it is not absolute. */
  readonly path: string
  readonly version: 2 | 3
  /** Path of a field in the array, if its elements are structures; else ''. */
  readonly field?: string
  /** The type: `text`, `bytes`, or numpy's name without the byte order. */
  readonly name: string
  readonly shape: readonly number[]
  /** Chunks, those in shards where there are shards, and shards. */
  readonly chunks: readonly number[]
  readonly shards?: readonly number[] | null
  readonly fill?: MatrixFill | null
  /** A place in the grid of objects, and the key there. */
  readonly sample?: readonly [readonly number[], string]
  readonly codecs: readonly string[]
  /** Texts, and bytes as numbers, in C order. */
  readonly elements?: readonly (string | readonly number[])[]
  /** Place of the other elements in `values.bin`. */
  readonly offset?: number
  readonly length?: number
}

/** Arrays that another library has written. */
export interface Matrix {
  readonly folder: string
  readonly cases: readonly MatrixCase[]
  /** The elements of a case in C order: of numbers the bytes, little-endian, of what `dtypeOf` names. */
  elementsOf(one: MatrixCase): Uint8Array | readonly (string | Uint8Array)[]
  remove(): void
}

/**
 * Writes a matrix of arrays; undefined, with a line that says so, without Python and its packages.
 * @param others folders of arrays that count to the matrix, too
 */
export function writeMatrix(
  count: number,
  seed: number,
  script: Script = 'matrix.py',
  others: readonly string[] = [],
): Matrix | undefined {
  const env = zarrPython()
  if (env === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-zarr-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    const path = fileURLToPath(new URL(script, import.meta.url))
    execFileSync('python3', [path, folder, String(count), String(seed), ...others], {
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const { cases } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as { cases: MatrixCase[] }
    const values = readFileSync(join(folder, 'values.bin'))
    return {
      folder,
      cases,
      elementsOf: ({ elements, offset = 0, length = 0 }) =>
        elements?.map((element) => (typeof element === 'string' ? element : Uint8Array.from(element))) ??
        new Uint8Array(values.subarray(offset, offset + length)),
      remove,
    }
  } catch (error) {
    remove()
    throw error
  }
}

const DTYPES: Readonly<Record<string, DType>> = {
  '?': 'bool',
  i1: 'int8',
  i2: 'int16',
  i4: 'int32',
  i8: 'int64',
  u1: 'uint8',
  u2: 'uint16',
  u4: 'uint32',
  u8: 'uint64',
  bf2: 'float32',
  f2: 'float32',
  f4: 'float32',
  f8: 'float64',
  text: 'string',
  bytes: 'binary',
  U: 'string',
  S: 'binary',
  V: 'binary',
  M: 'timestamp_ns',
  m: 'int64',
}

/** Returns the type that arrays with a type of the matrix are read as. */
export const dtypeOf = (name: string): DType => (DTYPES[name] ?? DTYPES[name[0]!])!

/** Reads metadata of a folder. */
export const readerOf = (folder: string): { get(key: string): Promise<Uint8Array | undefined> } => ({
  get: async (key) => {
    try {
      return new Uint8Array(readFileSync(join(folder, key)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  },
})

/** A fill value, or an element, as an array of that type has it. */
export function scalarOf(fill: MatrixFill | null, dtype: string): unknown {
  if (fill === null) return undefined
  if ('int' in fill) return /64|_ns/.test(dtype) ? BigInt(fill.int) : Number(fill.int)
  if ('float' in fill) return Buffer.from(fill.float, 'hex').readDoubleLE()
  return 'bool' in fill ? fill.bool : 'text' in fill ? fill.text : Uint8Array.from(fill.bytes)
}
