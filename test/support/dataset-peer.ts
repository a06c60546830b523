import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { startPython } from './python.ts'

/** Array as xarray returns it: values in C order, null for NaN, times as text. */
export interface PeerArray {
  readonly dims: readonly string[]
  readonly shape: readonly number[]
  readonly values: readonly (number | string | null)[]
  readonly coords: Readonly<
    Record<string, { readonly dims: readonly string[]; readonly values: readonly (number | string | null)[] }>
  >
}

/** One operation of a chain, and what it takes, as both understand it. */
export type Step = readonly [string, Readonly<Record<string, unknown>>]

/** An array in memory: values in C order, null for NaN; labels by dimension, along `time` as dates. */
export interface MemoryArray {
  readonly dims: readonly string[]
  readonly shape: readonly number[]
  readonly dtype: string
  readonly values: readonly (number | boolean | null)[]
  readonly coords: Readonly<Record<string, readonly (number | string)[]>>
}

/** xarray in a process of its own. */
export interface DatasetPeer {
  /** Writes files into a folder; each of the names is there as `.nc`, `.v2.zarr` and `.v3.zarr`. */
  write(folder: string): Promise<readonly string[]>
  /** Writes parts of series into a folder: `packed`, `noleap` and `levels`, numbered 0 to 2, likewise. */
  writeParts(folder: string): Promise<void>
  /**
   * Runs a chain of operations on a variable of a file, or of several files that are joined. Returns the
   * array, or the reason why there is none.
   */
  run(
    path: string | readonly string[],
    variable: string,
    steps: readonly Step[],
  ): Promise<PeerArray | { readonly refused: string }>
  /** Result of a chain of operations on an array in memory, or the reason why there is none. */
  runOn(array: MemoryArray, steps: readonly Step[]): Promise<PeerArray | { readonly refused: string }>
  /** The same of a dataset in memory, by variable. */
  runOnDataset(
    variables: Readonly<Record<string, MemoryArray>>,
    steps: readonly Step[],
  ): Promise<Readonly<Record<string, PeerArray>> | { readonly refused: string }>
  /** The array at whose end a script leaves it, or why there is none. */
  script(code: string): Promise<PeerArray | { readonly refused: string }>
  /** A variable of a file, or all of it, as text in long form. */
  table(path: string, variable?: string): Promise<string>
  close(): void
}

/** xarray, and a folder with files of a test, for as long as its tests run. */
export function datasetsIn(
  name: string,
  fill: (folder: string, peer: DatasetPeer | undefined) => Promise<unknown> | undefined,
): { readonly peer: DatasetPeer | undefined; readonly folder: string } {
  const peer = startDatasets()
  const folder = mkdtempSync(join(tmpdir(), `hyperslab-${name}-`))
  beforeAll(async () => void (await fill(folder, peer)), 120_000)
  afterAll(async () => {
    peer?.close()
    await rm(folder, { recursive: true, force: true })
  })
  return { peer, folder }
}

/** Undefined, with a line that says so, where it cannot be had. */
export function startDatasets(): DatasetPeer | undefined {
  const python = startPython('./dataset_peer.py')
  if (python === undefined) return undefined
  return {
    async write(folder) {
      const { result, error } = await python.ask({ write: folder })
      if (error !== undefined) throw new Error(error)
      return result
    },
    async writeParts(folder) {
      const { error } = await python.ask({ writeParts: folder })
      if (error !== undefined) throw new Error(error)
    },
    async run(path, variable, steps) {
      const { result, error } = await python.ask({ path, variable, steps })
      return error === undefined ? result : { refused: error }
    },
    async runOn(array, steps) {
      const { result, error } = await python.ask({ array, steps })
      return error === undefined ? result : { refused: error }
    },
    async runOnDataset(dataset, steps) {
      const { result, error } = await python.ask({ dataset, steps })
      return error === undefined ? result : { refused: error }
    },
    async script(code) {
      const { result, error } = await python.ask({ script: code })
      return error === undefined ? result : { refused: error }
    },
    async table(path, variable) {
      const { result, error } = await python.ask({ table: path, variable: variable ?? null })
      if (error !== undefined) throw new Error(error)
      return result
    },
    close: () => python.close(),
  }
}
