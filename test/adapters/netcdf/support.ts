import type { DiskArray } from '../../../src/array/disk-array.ts'
import type { AsyncBuffer } from '../../../src/core/async-buffer.ts'
import type { DType } from '../../../src/core/dtype.ts'
import { type NetcdfFile, type NetcdfVariable, openNetcdf } from '../../../src/runtime/netcdf.ts'
import { type WriterFile, writeNetcdf } from '../../support/netcdf-writer.ts'

/** A file in memory that notes what is read. */
export class CountingFile implements AsyncBuffer {
  readonly bytes: Uint8Array
  slices: [number, number][] = []

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  get byteLength(): number {
    return this.bytes.length
  }

  get bytesRead(): number {
    return this.slices.reduce((sum, [start, end]) => sum + end - start, 0)
  }

  async slice(start: number, end: number): Promise<Uint8Array> {
    this.slices.push([start, end])
    return this.bytes.subarray(start, end)
  }
}

/**
 * A large file of which only the start exists, the rest reads as zeros; notes what is read and how much of it
 * at once.
 */
export class HugeFile implements AsyncBuffer {
  slices: [number, number][] = []
  underWay = 0
  mostUnderWay = 0

  constructor(
    readonly head: Uint8Array,
    readonly byteLength: number,
  ) {}

  async slice(start: number, end: number): Promise<ArrayBuffer> {
    this.slices.push([start, end])
    this.mostUnderWay = Math.max(this.mostUnderWay, ++this.underWay)
    // Long enough for others to be asked for meanwhile, on a machine that is busy, too.
    await new Promise((resolve) => setTimeout(resolve, end - start > 2 ** 20 ? 20 : 0))
    this.underWay--
    const bytes = new Uint8Array(end - start)
    if (start < this.head.length) bytes.set(this.head.subarray(start, end))
    return bytes.buffer
  }
}

export const open = (file: WriterFile): Promise<NetcdfFile> => openNetcdf(new CountingFile(writeNetcdf(file)), { name: 'a.nc' })

export function variable(file: NetcdfFile, name: string): NetcdfVariable {
  const found = file.variables.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no variable ${name}`)
  return found
}

/** All values of an array, flat. */
export async function valuesOf<D extends DType>(array: DiskArray<D>): Promise<unknown[]> {
  const all = (await array.get()) as unknown
  return typeof all === 'object' && all !== null && 'data' in all ? [...(all.data as Iterable<unknown>)] : [all]
}
