import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pythonEnvironment, startScript } from '../../../scripts/python.mjs'
import type { Hdf5Array, Hdf5Group } from '../../../src/adapters/hdf5/group.ts'
import type { ArrayNode, GroupNode } from '../../../src/array/nodes.ts'
import { type DType, elementBytes, type FixedDType, isFixed, type TypedArray, toBytes } from '../../../src/core/dtype.ts'
import { openTree } from '../../../src/runtime/index.ts'
import { HDF5_PACKAGES } from '../../support/hdf5-filters.ts'

/** Folder of the files of other projects, which lies beside the project or above it. */
export const FORMATS = findFormats()

function findFormats(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const found = join(folder, 'shared/data/formats')
    if (existsSync(found)) return found
  }
  throw new Error('the folder shared/data/formats is missing beside the project')
}

/** An attribute as the oracle has it. */
export interface OracleAttribute {
  readonly type?: string
  readonly shape?: readonly number[] | null
  readonly value?: unknown
  readonly error?: string
}

/** Statistics of elements as the oracle has them. */
export interface OracleValues {
  readonly elements: number
  readonly finite?: number
  readonly nan?: number
  readonly sum?: number | string | readonly number[]
  readonly min?: number | string
  readonly max?: number | string
  readonly at?: readonly (readonly [number, unknown])[]
  readonly bytes?: number
  readonly sha256?: string
  readonly fields?: Readonly<Record<string, OracleValues>>
}

/** An object of a file as h5py describes it. */
export interface OracleObject {
  readonly kind?: string
  readonly soft?: string
  readonly same?: string
  readonly error?: string
  readonly attrs?: Readonly<Record<string, OracleAttribute>>
  readonly type?: { readonly class: string; readonly size: number; readonly base?: { readonly class: string } }
  readonly shape?: readonly number[] | null
  readonly chunks?: readonly number[]
  readonly fill?: unknown
  readonly values?: OracleValues
}

/** A file as the oracle describes it. */
export interface OracleFile {
  readonly error?: string
  readonly h5py?: {
    readonly error?: string
    readonly attrs?: Readonly<Record<string, OracleAttribute>>
    readonly objects?: Readonly<Record<string, OracleObject>>
  }
}

/** Descriptions of the HDF5 files, by their names. */
export function readOracle(): Map<string, OracleFile> {
  const { files } = JSON.parse(readFileSync(join(FORMATS, 'oracle.json'), 'utf8')) as { files: Record<string, OracleFile> }
  return new Map(Object.entries(files).filter(([name]) => name.startsWith('hdf5/')))
}

/** Arrays of a file and paths that cannot be read, with the reasons. */
export async function walkFile(root: Hdf5Group): Promise<{ arrays: Map<string, Hdf5Array>; unreadable: Map<string, Error> }> {
  const arrays = new Map<string, Hdf5Array>()
  const unreadable = new Map<string, Error>()
  const visit = async (group: Hdf5Group): Promise<void> => {
    const joined = (name: string): string => (group.path === '' ? name : `${group.path}/${name}`)
    for (const [name, error] of await group.unreadable()) unreadable.set(joined(name), error)
    for (const name of await group.arrays()) arrays.set(joined(name), await group.array(name))
    for (const name of await group.groups()) await visit(await group.group(name))
  }
  await visit(root)
  return { arrays, unreadable }
}

/** Visits the arrays of all groups of a file, but not the fields of compounds. */
export async function visitArrays(file: string, visit: (node: ArrayNode) => Promise<void> | void): Promise<void> {
  await using tree = await openTree(file)
  const visitGroup = async (group: GroupNode): Promise<void> => {
    for (const name of await group.arrays()) await visit(await group.array(name))
    for (const name of await group.groups()) {
      const inner = await group.group(name)
      if (!inner.title.includes('compound')) await visitGroup(inner)
    }
  }
  if (tree.root.kind === 'group') await visitGroup(tree.root)
}

/** Elements of a result, as typed array or texts. */
export function listOf(dtype: DType, result: unknown): ArrayLike<unknown> {
  if (typeof result === 'object' && result !== null && 'data' in result) return result.data as ArrayLike<unknown>
  const value = typeof result === 'boolean' ? Number(result) : result
  return isFixed(dtype) ? Object.assign(typedOf(dtype, 1), [value]) : [value]
}

function typedOf(dtype: FixedDType, length: number): TypedArray {
  const [, letter = '', bits = ''] = /^(u?)(?:int|float|bool)(\d*)$/.exec(dtype) ?? []
  const bytes = elementBytes(dtype)
  if (dtype.startsWith('float')) return bytes === 4 ? new Float32Array(length) : new Float64Array(length)
  if (dtype === 'bool') return new Uint8Array(length)
  const types = letter === 'u' ? { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array, 64: BigUint64Array } : { 8: Int8Array, 16: Int16Array, 32: Int32Array, 64: BigInt64Array } // biome-ignore format: one line
  return new types[bits as unknown as keyof typeof types](length)
}

/** Digest of elements, as `elements.py` makes it. */
export function digest(dtype: DType, list: ArrayLike<unknown>): string {
  const hash = createHash('sha256')
  if (dtype === 'string') hash.update(Array.from(list, String).join('\0'))
  else if (dtype === 'binary')
    for (const bytes of list as readonly Uint8Array[])
      hash.update(new Uint8Array(Uint32Array.of(bytes.length).buffer)).update(bytes)
  else hash.update(toBytes(list as TypedArray))
  return hash.digest('hex')
}

/** Result of `elements.py`. */
export interface PythonElements {
  readonly shape?: readonly number[]
  readonly sha?: string
  readonly error?: string
}

/** Starts a Python script of this folder with h5py; returns why it cannot be started. */
export function startPython(
  script: string,
  args: readonly string[] = [],
): { python: ReturnType<typeof startScript> } | { failure: string } {
  const { env, failure } = pythonEnvironment(HDF5_PACKAGES)
  if (failure !== undefined) return { failure }
  return { python: startScript(fileURLToPath(new URL(script, import.meta.url)), env, [...args]) }
}
