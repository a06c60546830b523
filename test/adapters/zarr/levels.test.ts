import { expect, test } from 'vitest'
import { parseLevels } from '../../../src/adapters/zarr/levels.ts'
import { isHyperslabError } from '../../../src/core/errors.ts'

const AXES = [
  { name: 'c', type: 'channel' },
  { name: 'y', type: 'space', unit: 'micrometer' },
  { name: 'x', type: 'space', unit: 'micrometer' },
]
const IMAGE = {
  name: 'cells',
  axes: AXES,
  datasets: [
    { path: '0', coordinateTransformations: [{ type: 'scale', scale: [1, 0.5, 0.25] }] },
    {
      path: 's/1',
      coordinateTransformations: [
        { type: 'scale', scale: [1, 1, 0.5] },
        { type: 'translation', translation: [0, 0.25, 0.125] },
      ],
    },
  ],
}
const EXPECTED = [
  {
    name: 'cells',
    axes: AXES,
    levels: [
      { path: '0', scale: [1, 0.5, 0.25], translation: [0, 0, 0] },
      { path: 's/1', scale: [1, 1, 0.5], translation: [0, 0.25, 0.125] },
    ],
  },
]
const failure = (attrs: object): string => {
  try {
    return JSON.stringify(parseLevels(attrs as Record<string, unknown>))
  } catch (error) {
    return isHyperslabError(error) ? `${error.tag}: ${error.message}` : String(error)
  }
}

test('images of OME-NGFF 0.4 and 0.5 are pyramids of arrays', () => {
  expect(parseLevels({ multiscales: [{ version: '0.4', ...IMAGE }], omero: {} })).toEqual(EXPECTED)
  expect(parseLevels({ ome: { version: '0.5', multiscales: [IMAGE] } })).toEqual(EXPECTED)
  expect(parseLevels({ multiscales: [IMAGE, { datasets: [{ path: 'b' }] }] })).toHaveLength(2)
})

test('what is said of all levels comes after what is said of one', () => {
  const outer = [
    { type: 'scale', scale: [10, 10, 10] },
    { type: 'translation', translation: [1, 2, 3] },
  ]
  const [image] = parseLevels({ multiscales: [{ ...IMAGE, coordinateTransformations: outer }] })
  expect(image!.levels[1]).toEqual({ path: 's/1', scale: [10, 10, 5], translation: [1, 4.5, 4.25] })
})

test('levels without transformations, as older versions have them', () => {
  expect(parseLevels({ multiscales: [{ version: '0.3', axes: ['y', 'x'], datasets: [{ path: '0' }] }] })).toEqual([
    { axes: [{ name: 'y' }, { name: 'x' }], levels: [{ path: '0', scale: undefined, translation: undefined }] },
  ])
})

test('layouts of GeoZarr are relative to the level that others come from', () => {
  const layout = [
    { asset: 'r10m', transform: { scale: [1, 1] } },
    { asset: 'r20m', derived_from: 'r10m', transform: { scale: [2, 2], translation: [0.5, 0.25] } },
    { asset: 'r60m/', derived_from: 'r20m', transform: { scale: [3, 3], translation: [1, 1] } },
    { asset: 'far' },
  ]
  expect(parseLevels({ multiscales: { layout, resampling_method: 'average' } })).toEqual([
    {
      levels: [
        { path: 'r10m', scale: [1, 1], translation: [0, 0] },
        { path: 'r20m', scale: [2, 2], translation: [0.5, 0.25] },
        // Its element i is 3 i + 1 of r20m, which is 2 (3 i + 1) + 0.25 of r10m along x.
        { path: 'r60m', scale: [6, 6], translation: [2.5, 2.25] },
        { path: 'far', scale: undefined, translation: undefined },
      ],
    },
  ])
})

test('sets of tile matrices name the groups of levels', () => {
  const tile_matrix_set = { id: 'native', tileMatrices: [{ id: '0' }, { id: '1' }, { id: '2' }] }
  const paths = (multiscales: object): unknown => parseLevels({ multiscales })[0]!.levels.map(({ path }) => path)
  expect(paths({ tile_matrix_set })).toEqual(['0', '1', '2'])
  expect(paths({ tile_matrix_set, tile_matrix_limits: { '0': {}, '2': {} } })).toEqual(['0', '2'])
  const old = { tileMatrix: [{ identifier: '3' }, { identifier: '4' }] }
  expect(paths({ tile_matrix_set: old, tile_matrix_limits: [{ tileMatrix: '4' }] })).toEqual(['4'])
  expect(paths({ tile_matrix_set: 'WebMercatorQuad', tile_matrix_limits: [{ tileMatrix: '3' }] })).toEqual(['3'])
  expect(failure({ multiscales: { tile_matrix_set: 'WebMercatorQuad' } })).toMatch(/^UnsupportedError/)
})

test('groups without pyramids', () => {
  expect(parseLevels({})).toEqual([])
  expect(parseLevels({ ome: { version: '0.5' } })).toEqual([])
})

test.each([
  [{ multiscales: 'x' }],
  [{ multiscales: [1] }],
  [{ multiscales: [{ datasets: [{}] }] }],
  [{ multiscales: [{ datasets: [{ path: '../../x' }] }] }],
  [{ multiscales: [{ datasets: [{ path: '/x' }] }] }],
  [{ multiscales: [{ datasets: [{ path: '0', coordinateTransformations: [{ type: 'scale', scale: ['1'] }] }] }] }],
  [{ multiscales: [{ axes: AXES, datasets: [{ path: '0', coordinateTransformations: [{ type: 'scale', scale: [1] }] }] }] }],
  [{ multiscales: { layout: [{ asset: 'a', derived_from: 'b' }] } }],
  [
    {
      multiscales: {
        layout: [
          { asset: 'a', derived_from: 'b' },
          { asset: 'b', derived_from: 'a' },
        ],
      },
    },
  ],
  [{ multiscales: { layout: [{ asset: 'a', transform: { scale: [1], translation: [1, 2] } }] } }],
  [{ multiscales: { layout: Array.from({ length: 1001 }, (_, i) => ({ asset: `${i}` })) } }],
])('%j describes no pyramid', (attrs) => {
  expect(failure(attrs)).toMatch(/^FormatError: /)
})

test('other transformations are refused by name', () => {
  const coordinateTransformations = [{ type: 'rotation', rotation: [] }]
  expect(failure({ multiscales: [{ datasets: [{ path: '0', coordinateTransformations }] }] })).toBe(
    'UnsupportedError: transformations of the type "rotation" are not read, only scales and translations',
  )
})
