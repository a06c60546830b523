import { fileURLToPath } from 'node:url'
import { type Python, startScript } from '../../scripts/python.mjs'
import { pythonWith } from './python.ts'

/** h5py with the filters of hdf5plugin, netCDF4 and xarray. */
export const HDF5_PACKAGES = [
  'numpy==2.4.6',
  'h5py==3.16.0',
  'hdf5plugin==7.1.0',
  'netcdf4==1.7.5.1.post1',
  'xarray==2026.9.0',
  'pandas==3.1.1',
  'cftime==1.6.6.1',
]

/** A filter as h5py describes it. */
export interface StoredFilter {
  readonly id: number
  readonly flags: number
  readonly name: string
  readonly parameters: readonly number[]
}

/** A dataset of one axis, written by h5py. */
export interface FilteredDataset {
  readonly filters: readonly StoredFilter[]
  readonly chunks: readonly { readonly at: number; readonly mask: number; readonly raw: Uint8Array }[]
  /** Bytes of a stored element. */
  readonly bytes: number
  /** Elements as h5py reads them, without conversion. */
  readonly data: Uint8Array
}

/** Dataset that h5py writes. */
export interface FilteredRequest {
  readonly dtype?: string
  readonly members?: readonly (readonly unknown[])[]
  readonly data: Uint8Array
  readonly chunk?: number
  readonly fill?: number
  readonly precision?: number
  readonly offset?: number
  readonly filters: readonly (readonly [string | number, readonly number[]])[]
  /** Chunks that are written as they are, with their masks. */
  readonly raw?: readonly (readonly [number, Uint8Array])[]
}

export interface FilteredPython {
  /** @throws if h5py refuses */
  write(request: FilteredRequest): Promise<FilteredDataset>
  close(): void
}

const base64 = (data: Uint8Array): string => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'))

/** Starts h5py; returns undefined, with a line that says so, if it cannot be installed. */
export function startFilteredPython(): FilteredPython | undefined {
  const env = pythonWith(HDF5_PACKAGES)
  if (env === undefined) return undefined
  const python: Python = startScript(fileURLToPath(new URL('./hdf5_filters.py', import.meta.url)), env)
  return {
    async write(request) {
      const raw = request.raw?.map(([mask, chunk]) => [mask, base64(chunk)])
      const answer = await python.ask({ ...request, data: base64(request.data), raw })
      if (answer.error !== undefined) throw new Error(answer.error)
      return {
        filters: answer.filters,
        bytes: answer.bytes,
        data: bytes(answer.data),
        chunks: answer.chunks.map((chunk: { at: number; mask: number; raw: string }) => ({ ...chunk, raw: bytes(chunk.raw) })),
      }
    },
    close: () => python.close(),
  }
}
