import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ArrayFile, FileOptions } from '../../src/af/file.js'
import { allocate, toElement, zeroOf } from '../../src/core/dtype.js'
import { sizeOf } from '../../src/core/shape.js'
import type { Selector } from '../../src/grid/selection.js'
import { type ArrayOptions, create, MemoryStore, open, type Tensor } from '../../src/runtime/index.js'
import { dtypes, elements, grids, selections, shapes } from '../support/arbitraries.js'
import { type Plain, pick, plainSet } from '../support/oracle.js'

/** An array as plain data. */
interface PlainArray extends Plain {
  readonly options: ArrayOptions
  readonly attributes: Map<string, unknown>
}

type Arrays = Map<string, PlainArray>

interface Edit {
  readonly name: string
  change(arrays: Arrays): void
}

const copyOf = (arrays: Arrays): Arrays =>
  new Map(
    [...arrays].map(([name, array]) => [
      name,
      { ...array, data: [...array.data] as never, attributes: new Map(array.attributes) },
    ]),
  )

/** What is flushed, and for each handle what it had when it last agreed with that, what it sees, and what it changed in between. */
interface Model {
  committed: Arrays
  readonly handles: { base: Arrays; seen: Arrays; edits: Edit[]; stale: boolean }[]
}

interface Real {
  readonly where: { store: MemoryStore; path: string }
  readonly files: ArrayFile[]
  readonly options: FileOptions[]
}

const NAMES = ['a', 'b', 'c']

const blank = (options: ArrayOptions): PlainArray => {
  const { dtype, shape, fillValue } = options
  const data = allocate(dtype, sizeOf(shape))
  ;(data as unknown[]).fill(toElement(dtype, fillValue ?? zeroOf(dtype)))
  return { dtype, shape, data, options, attributes: new Map() }
}

async function dataOf(file: ArrayFile, name: string): Promise<unknown[]> {
  const array = file.array(name)
  if (array.shape.length > 0) return [...((await array.get(array.shape.map(() => null) as [null])) as Tensor).data]
  const value: unknown = await array.get()
  return [typeof value === 'boolean' ? Number(value) : value]
}

const sameOptions = (a?: PlainArray, b?: PlainArray): boolean => fc.stringify(a?.options) === fc.stringify(b?.options)

/** Statistics of a handle that others have overtaken may be theirs: there is one file of them. */
async function expectSees(file: ArrayFile, arrays: Arrays, stale = false): Promise<void> {
  expect(file.arrays().sort()).toEqual([...arrays.keys()].sort())
  for (const [name, { data, shape, dtype, attributes }] of arrays) {
    expect(await dataOf(file, name), name).toEqual([...data])
    expect([file.array(name).shape, file.array(name).dtype]).toEqual([shape, dtype])
    expect(new Map(file.array(name).attrs)).toEqual(attributes)
    if (!stale) expect(await file.stats(name)).toMatchObject({ rowCount: data.length })
  }
}

abstract class Command implements fc.AsyncCommand<Model, Real, false> {
  constructor(readonly handle: number) {}
  check(_: Readonly<Model>): boolean {
    return true
  }
  abstract run(model: Model, real: Real): Promise<void>
  toString(): string {
    return `${this.constructor.name}(${Object.values(this)
      .map((value) => fc.stringify(value))
      .join()})`
  }

  /** Changes what the handle sees, and remembers the change for when others have flushed first. */
  protected edit(model: Model, name: string, change: (arrays: Arrays) => void): void {
    const handle = model.handles[this.handle]!
    change(handle.seen)
    handle.edits.push({ name, change })
  }
}

class Define extends Command {
  constructor(
    handle: number,
    readonly name: string,
    readonly options: ArrayOptions,
  ) {
    super(handle)
  }
  /** Two handles that change what exists are told of a conflict, which errors.test.ts has: here one does it when nothing is pending. */
  override check({ handles }: Readonly<Model>): boolean {
    return !handles[this.handle]!.seen.has(this.name) && alone(handles, this.handle)
  }
  async run(model: Model, { files }: Real): Promise<void> {
    files[this.handle]!.define(this.name, this.options)
    this.edit(model, this.name, (arrays) => arrays.set(this.name, blank(this.options)))
  }
}

class Delete extends Command {
  constructor(
    handle: number,
    readonly name: string,
  ) {
    super(handle)
  }
  override check({ handles }: Readonly<Model>): boolean {
    return handles[this.handle]!.seen.has(this.name) && alone(handles, this.handle)
  }
  async run(model: Model, { files }: Real): Promise<void> {
    files[this.handle]!.delete(this.name)
    this.edit(model, this.name, (arrays) => arrays.delete(this.name))
  }
}

/** No other handle has pending changes, and this one has seen all there is. */
const alone = (handles: Model['handles'], handle: number): boolean =>
  !handles[handle]!.stale && handles.every(({ edits }, i) => i === handle || edits.length === 0)

class Write extends Command {
  constructor(
    handle: number,
    readonly name: string,
    readonly seed: number,
  ) {
    super(handle)
  }
  /** An element that gets the value it had is not a change that survives another writer's. */
  override check({ handles }: Readonly<Model>): boolean {
    const { seen, base } = handles[this.handle]!
    const array = seen.get(this.name)
    if (array === undefined || pick(array.shape, this.#selection(array)).flat.length === 0) return false
    const value = String(this.#value(array))
    return ![...(base.get(this.name)?.data ?? [])].some((each) => String(each) === value)
  }
  async run(model: Model, { files }: Real): Promise<void> {
    const array = model.handles[this.handle]!.seen.get(this.name)!
    const { dtype, shape } = array
    const selection = this.#selection(array)
    const value = this.#value(array)
    await files[this.handle]!.array(this.name).set(selection as [null], (dtype === 'bool' ? value === 1 : value) as never)
    this.edit(model, this.name, (arrays) => plainSet(arrays.get(this.name)!, selection, new Array(sizeOf(shape)).fill(value)))
  }
  #selection({ shape }: PlainArray): Selector[] {
    return fc.sample(selections(shape), { seed: this.seed, numRuns: 1 })[0]!
  }
  #value({ dtype }: PlainArray): unknown {
    return fc.sample(elements(dtype), { seed: this.seed, numRuns: 1 })[0]
  }
}

class SetAttribute extends Command {
  constructor(
    handle: number,
    readonly name: string,
    readonly key: string,
    readonly value: string | number | undefined,
  ) {
    super(handle)
  }
  override check({ handles }: Readonly<Model>): boolean {
    const array = handles[this.handle]!.seen.get(this.name)
    const changes = this.value !== undefined || array?.attributes.has(this.key)
    return array !== undefined && changes === true && alone(handles, this.handle)
  }
  async run(model: Model, { files }: Real): Promise<void> {
    const { attrs } = files[this.handle]!.array(this.name)
    if (this.value === undefined) attrs.delete(this.key)
    else attrs.set(this.key, this.value)
    this.edit(model, this.name, (arrays) => {
      const { attributes } = arrays.get(this.name)!
      if (this.value === undefined) attributes.delete(this.key)
      else attributes.set(this.key, this.value)
    })
  }
}

class Flush extends Command {
  constructor(
    handle: number,
    readonly compact: boolean,
  ) {
    super(handle)
  }
  override check({ handles }: Readonly<Model>): boolean {
    // A compaction takes files away from under another handle, which is told so: see container.test.ts.
    return !this.compact || handles.every(({ edits, stale }, i) => (i === this.handle ? !stale : edits.length === 0))
  }
  async run(model: Model, { where, files, options }: Real): Promise<void> {
    if (model.handles[this.handle]!.stale && files[this.handle]!.changed) {
      await expect(files[this.handle]!.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
      await new Refresh(this.handle).run(model, { where, files, options })
    }
    const [file, handle] = [files[this.handle]!, model.handles[this.handle]!]
    const changed = file.changed
    await file.flush()
    if (changed) {
      model.committed = copyOf(handle.seen)
      for (const other of model.handles) if (other !== handle) other.stale = true
    }
    if (changed) handle.base = copyOf(handle.seen)
    handle.edits.length = 0
    if (!this.compact || handle.stale) return
    await file.compact()
    for (const i of files.keys()) if (i !== this.handle) await new Reopen(i).run(model, { where, files, options })
  }
}

class Refresh extends Command {
  async run(model: Model, real: Real): Promise<void> {
    const { committed, handles } = model
    const { files } = real
    const handle = handles[this.handle]!
    // Changes of an array that was deleted or defined otherwise by the other handle have nowhere to go.
    const gone = handle.edits.some(
      ({ name }) => handle.seen.has(name) && !sameOptions(handle.base.get(name), committed.get(name)),
    )
    if (gone) {
      await expect(files[this.handle]!.refresh()).rejects.toMatchObject({ tag: 'ConflictError' })
      return new Reopen(this.handle).run(model, real)
    }
    await files[this.handle]!.refresh()
    handle.base = copyOf(committed)
    handle.seen = copyOf(committed)
    for (const { change } of handle.edits) change(handle.seen)
    handle.stale = false
  }
}

/** Drops what was not flushed. */
class Reopen extends Command {
  async run({ committed, handles }: Model, { where, files, options }: Real): Promise<void> {
    await files[this.handle]!.close()
    files[this.handle] = await open(where, options[this.handle])
    handles[this.handle] = { base: copyOf(committed), seen: copyOf(committed), edits: [], stale: false }
  }
}

class Check extends Command {
  async run({ handles }: Model, { files }: Real): Promise<void> {
    const { seen, stale } = handles[this.handle]!
    await expectSees(files[this.handle]!, seen, stale)
  }
}

const handle = fc.nat(1)
const name = fc.constantFrom(...NAMES)
const definitions = fc.tuple(shapes, dtypes).chain(([shape, dtype]) =>
  fc.tuple(grids(shape, false), fc.option(elements(dtype), { nil: undefined })).map(([grid, fill]): ArrayOptions => {
    const options = { dtype, shape, chunkShape: grid.chunkShape }
    return fill === undefined || dtype === 'binary'
      ? options
      : { ...options, fillValue: (dtype === 'bool' ? fill === 1 : fill) as never }
  }),
)

const commands = fc.commands<Model, Real, false>(
  [
    fc.tuple(handle, name, definitions).map((all) => new Define(...all)),
    ...[1, 2, 3, 4].map(() => fc.tuple(handle, fc.oneof(fc.constant('a'), name), fc.nat()).map((all) => new Write(...all))),
    fc.tuple(handle, name).map((all) => new Delete(...all)),
    fc
      .tuple(handle, name, fc.constantFrom('k', 'l'), fc.constantFrom('v', 1.5, undefined))
      .map((all) => new SetAttribute(...all)),
    fc.tuple(handle, fc.nat(3)).map(([handle, n]) => new Flush(handle, n === 0)),
    fc.tuple(handle, fc.nat(3)).map(([handle, n]) => new Flush(handle, n === 0)),
    handle.map((each) => new Refresh(each)),
    handle.map((each) => new Reopen(each)),
    handle.map((each) => new Check(each)),
  ],
  { maxCommands: 60, size: '+1' },
)

const settings = fc.record({
  codec: fc.constantFrom('none', 'lz4'),
  blockBytes: fc.constantFrom(1, 64, 1 << 20),
  cacheBytes: fc.constantFrom(0, 100, 64 << 20),
})

test('two handles on one container, through any history, see what a plain map says', async () => {
  await fc.assert(
    fc.asyncProperty(commands, settings, settings, definitions, async (all, first, second, definition) => {
      const where = { store: new MemoryStore(), path: 'a.af' }
      const file = await create(where)
      file.define('a', definition)
      await file.flush()
      await file.close()
      const committed: Arrays = new Map([['a', blank(definition)]])
      const options = [first, second]
      const files = await Promise.all(options.map((each) => open(where, each)))
      const handles = options.map(() => ({ base: copyOf(committed), seen: copyOf(committed), edits: [], stale: false }))
      const model: Model = { committed, handles }
      await fc.asyncModelRun(() => ({ model, real: { where, files, options } }), all)
      for (const [i, file] of files.entries()) {
        await expectSees(file, model.handles[i]!.seen, model.handles[i]!.stale)
        await file.close()
      }
      await using reader = await open(where)
      await expectSees(reader, model.committed)
    }),
    { numRuns: Number(process.env['HYPERSLAB_HISTORY_RUNS'] ?? 150) },
  )
})
