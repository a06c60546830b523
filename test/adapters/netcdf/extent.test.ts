import { expect, test } from 'vitest'
import { openNetcdf } from '../../../src/runtime/netcdf.ts'
import { type WriterFile, writeNetcdf } from '../../support/netcdf-writer.ts'
import { CountingFile } from './support.ts'

const SAMPLE: WriterFile = {
  dimensions: [['x', 4]],
  attributes: [{ name: 'title', type: 'char', value: 'sample' }],
  variables: [{ name: 'v', type: 'int', dimensions: ['x'], values: [1, 2, 3, 4] }],
}

test('whatever word of the header is huge: nothing of that size is allocated, and errors are ours', async () => {
  const whole = writeNetcdf(SAMPLE)
  const arrays = globalThis.Array
  let largest = 0
  // Lists are made by the parser as `new Array(count)`.
  globalThis.Array = new Proxy(arrays, {
    construct: (target, args, to) => {
      if (args.length === 1 && typeof args[0] === 'number') largest = Math.max(largest, args[0])
      return Reflect.construct(target, args, to)
    },
  })
  let refused = 0
  try {
    for (let at = 4; at < whole.length; at += 4) {
      for (const huge of [0x00ffffff, 0x7fffffff, 0xffffffff]) {
        const bytes = whole.slice()
        new DataView(bytes.buffer).setUint32(at, huge)
        await openNetcdf(new CountingFile(bytes)).catch((error: { tag?: string }) => {
          refused++
          expect(error.tag).toMatch(/^(Format|Unsupported|TooLarge|InvalidArgument)Error$/)
        })
      }
    }
  } finally {
    globalThis.Array = arrays
  }
  expect(refused).toBeGreaterThan(20)
  expect(largest).toBeLessThan(whole.length)
})
