import { invalidArgument } from '../core/errors.ts'

/** Mean radius of the Earth (IUGG) in metres. Distances are measured on a sphere of this radius. */
export const EARTH_RADIUS = 6_371_008.8

const LENGTHS: Readonly<Record<string, number>> = { m: 1, km: 1000, deg: (EARTH_RADIUS * Math.PI) / 180 }

/**
 * Converts a length to metres: `25km`, `500m`, or degrees of a great circle, `0.25deg`.
 * @throws InvalidArgumentError for any other value, including numbers
 */
export function parseMetres(length: unknown): number {
  const [, count = '', unit = ''] = (typeof length === 'string' && /^(\d+(?:\.\d+)?)\s*(km|m|deg)$/.exec(length)) || []
  if (unit !== '') return Number(count) * LENGTHS[unit]!
  return invalidArgument("the tolerance of places is text with a unit, such as '25km', '500m' or '0.25deg'", length)
}
