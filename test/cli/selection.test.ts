import { describe, expect, test } from 'vitest'
import { parseAxes, parseSelection, protectNegatives } from '../../src/cli/commands/options.ts'
import { UsageError } from '../../src/cli/show/failure.ts'
import { slice } from '../../src/runtime/index.ts'

describe('parseSelection', () => {
  test.each([
    ['', []],
    ['0', [0]],
    ['-1', [-1]],
    ['+2', [2]],
    [':', [null]],
    ['0,10:20,::-2', [0, slice(10, 20), slice(null, null, -2)]],
    [' 1 , : , 5: ', [1, null, slice(5, null)]],
    [':5', [slice(5)]],
    ['-3:-1', [slice(-3, -1)]],
    ['::', [slice(null, null)]],
    ['8:2:-3', [slice(8, 2, -3)]],
    ['...', [null, null, null]],
    ['...,0', [null, null, 0]],
    ['0,...,1', [0, null, 1]],
    ['0,1,2,...', [0, 1, 2]],
  ])('%j', (text, expected) => {
    expect(parseSelection(text, 3)).toEqual(expected)
  })

  test.each([
    ['0,x,1', "selection '0,x,1': 'x' (axis 1) is neither an integer nor start:stop:step"],
    ['1.5', "selection '1.5': '1.5' (axis 0) is neither an integer nor start:stop:step"],
    ['0,,1', "selection '0,,1': '' (axis 1) is empty; write : for a whole axis"],
    ['0,', "selection '0,': '' (axis 1) is empty; write : for a whole axis"],
    ['1:2:3:4', "selection '1:2:3:4': '1:2:3:4' (axis 0) has more than two colons"],
    ['a:2', "selection 'a:2': 'a:2' (axis 0) has 'a', which is not an integer"],
    ['1:1e3', "selection '1:1e3': '1:1e3' (axis 0) has '1e3', which is not an integer"],
    ['1:2:0', "selection '1:2:0': '1:2:0' (axis 0) has a step of 0"],
    ['9007199254740993', "selection '9007199254740993': '9007199254740993' (axis 0) is too large a number"],
    ['...,...', "selection '...,...' has more than one '...'"],
    ['[0]', "selection '[0]': '[0]' (axis 0) is neither an integer nor start:stop:step"],
  ])('rejects %j', (text, message) => {
    expect(() => parseSelection(text, 3)).toThrow(new UsageError(message))
  })

  test('never gives -0', () => {
    expect(Object.is((parseSelection('-0', 1) as number[])[0], 0)).toBe(true)
  })
})

test('selections that start with a minus sign are no options', () => {
  expect(protectNegatives(['get', '-1,2:3', '-1', '::-1', '-f', '--axis', '-2:'])).toEqual([
    'get',
    ' -1,2:3',
    ' -1',
    '::-1',
    '-f',
    '--axis',
    ' -2:',
  ])
})

test('axes are names or numbers', () => {
  expect(parseAxes('time, lat')).toEqual(['time', 'lat'])
  expect(parseAxes(' -1,0')).toEqual([-1, 0])
  expect(() => parseAxes('time,')).toThrow(new UsageError("axis 'time,' has an empty name"))
})
