import { expect } from 'vitest'
import type { DataArray } from '../../src/dataset/data-array.ts'
import type { PeerArray } from './dataset-peer.ts'

/** The values of an array in C order, as numbers; text as it is. */
export async function valuesOf(array: DataArray): Promise<unknown[]> {
  return Array.from(await array.values(), (value) => (typeof value === 'bigint' ? Number(value) : value))
}

/**
 * Expects an array as xarray returns it: values within a relative tolerance, dimensions, and the labels and
 * values of the coordinates that both have. Coordinates along dimensions must be there.
 */
export async function expectPeer(array: DataArray, theirs: PeerArray, relative = 1e-12): Promise<void> {
  expect(array.dims).toEqual(theirs.dims)
  expect(array.shape).toEqual(theirs.shape)
  expectClose(await shown(array), theirs.values, relative, array.name)
  for (const [name, coord] of Object.entries(theirs.coords)) {
    const own = array.coords[name]
    if (own === undefined) throw new Error(`the coordinate ${name} is not there`)
    expect(own.dims).toEqual(coord.dims)
    expectClose(await shown(own), coord.values, relative, name)
  }
}

/** Values, and times as text to the second. */
async function shown(array: DataArray): Promise<unknown[]> {
  const { index, scalar, times } = array.variable
  const isTime = times !== undefined || (index ?? scalar)?.kind.calendar !== undefined || array.dtype === 'timestamp_ns'
  if (!isTime) return valuesOf(array)
  return (await array.dates()).map((date) => (date === null ? null : date instanceof Date ? date.toISOString() : String(date)))
}

function expectClose(own: readonly unknown[], theirs: readonly (number | string | null)[], relative: number, name: string): void {
  expect(own.length, name).toBe(theirs.length)
  for (const [i, their] of theirs.entries()) {
    const value = own[i]
    const what = `${name} at ${i}`
    if (their === null) expect(value === null || Number.isNaN(value), `${what}: ${String(value)}`).toBe(true)
    else if (their === 'inf' || their === '-inf') expect(value, what).toBe(their === 'inf' ? Infinity : -Infinity)
    else if (typeof their === 'string') expect(String(value).slice(0, 16), what).toBe(their.slice(0, 16))
    else expect(Math.abs(Number(value) - their), what).toBeLessThanOrEqual(relative * Math.max(1, Math.abs(their)))
  }
}
