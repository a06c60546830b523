import { expect, test } from 'vitest'
import { findAxisKind } from '../../../src/dataset/cf/axis-kind.ts'

test.each([
  ['lat', {}, 'latitude'],
  ['y', { units: 'degrees_north' }, 'latitude'],
  ['rlat', { standard_name: 'grid_latitude', units: 'degrees' }, 'latitude'],
  ['x', { axis: 'X' }, 'longitude'],
  ['x', { axis: 'X', units: 'm' }, undefined],
  // Coordinates of a projection are no degrees, with units and without.
  ['x', { axis: 'X', standard_name: 'projection_x_coordinate' }, undefined],
  ['y', { axis: 'Y', standard_name: 'projection_y_coordinate', units: 'm' }, undefined],
  ['x', { axis: 'X', standard_name: 'projection_x_angular_coordinate' }, undefined],
  ['t', { units: 'days since 2000-01-01' }, 'time'],
  ['z', { positive: 'down' }, 'vertical'],
  ['band', {}, undefined],
] as const)('the direction of %s with the attributes %o is %s', (name, attrs, kind) => {
  expect(findAxisKind(name, attrs)).toBe(kind)
})
