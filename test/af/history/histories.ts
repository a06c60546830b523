import fc from 'fast-check'
import { type ArrayOptions, create, MemoryStore, open } from '../../../src/runtime/index.ts'
import { dtypes, elements, grids, shapes } from '../../support/arbitraries.ts'
import { Define, Delete, Resize, SetAttribute, Write } from './edits.ts'
import { type Arrays, blank, Model } from './model.ts'
import { Check, CheckPast, Flush, Refresh, Reopen } from './publishing.ts'
import type { Real } from './real.ts'

const handle = fc.nat(1)
const name = fc.oneof(fc.constant('a'), fc.constantFrom('a', 'b', 'c'))
const definitions = fc.tuple(shapes, dtypes).chain(([shape, dtype]) =>
  fc.tuple(grids(shape, false), fc.option(elements(dtype), { nil: undefined })).map(([grid, fill]): ArrayOptions => {
    const options = { dtype, shape, chunks: grid.chunkShape }
    return fill === undefined || dtype === 'binary'
      ? options
      : { ...options, fillValue: (dtype === 'bool' ? fill === 1 : fill) as never }
  }),
)
/** New lengths of the axes. If the list is shorter than the shape, the other axes keep their lengths. */
const lengths = fc.array(fc.nat(9), { minLength: 1, maxLength: 5 })

const commands = fc.commands<Model, Real, false>(
  [
    fc.tuple(handle, name, definitions).map((all) => new Define(...all)),
    ...[1, 2, 3, 4].map(() => fc.tuple(handle, name, fc.nat()).map((all) => new Write(...all))),
    ...[1, 2].map(() => fc.tuple(handle, name, lengths).map((all) => new Resize(...all))),
    fc.tuple(handle, name).map((all) => new Delete(...all)),
    fc
      .tuple(handle, name, fc.constantFrom('k', 'l'), fc.constantFrom('v', 1.5, undefined))
      .map((all) => new SetAttribute(...all)),
    ...[1, 2].map(() => fc.tuple(handle, fc.nat(5)).map(([handle, n]) => new Flush(handle, n === 0))),
    handle.map((each) => new Refresh(each)),
    handle.map((each) => new Reopen(each)),
    handle.map((each) => new Check(each)),
    handle.map((each) => new CheckPast(each)),
  ],
  { maxCommands: 60, size: '+1' },
)

const settings = fc.record({
  codec: fc.constantFrom('none', 'lz4'),
  blockBytes: fc.constantFrom(1, 64, 1 << 20),
  segmentBytes: fc.constantFrom(1, 30, 1 << 18),
  cacheBytes: fc.constantFrom(0, 100, 64 << 20),
  extensionBlocks: fc.boolean(),
})

/**
 * Histories of two handles on one container, one operation after the other, with the options that opened
 * them.
 */
export const histories = fc.tuple(commands, settings, settings, definitions)

type History = typeof histories extends fc.Arbitrary<infer T> ? T : never

/** Carries a history out on a new container, beside a plain map. */
export async function runHistory([all, first, second, definition]: History): Promise<{ model: Model; real: Real }> {
  const where = { store: new MemoryStore(), path: 'a.af' }
  const file = await create(where)
  file.createArray('a', definition)
  await file.flush()
  await file.close()
  const committed: Arrays = new Map([['a', blank(definition)]])
  const options = [first, second]
  const files = await Promise.all(options.map((each) => open(where, each)))
  const model = new Model(committed, files.length)
  // The first flush took the place of the empty base.
  model.past.set(0, committed)
  const real = { where, files, options }
  await fc.asyncModelRun(() => ({ model, real }), all)
  return { model, real }
}
