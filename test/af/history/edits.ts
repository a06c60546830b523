import fc from 'fast-check'
import type { ArrayOptions } from '../../../src/runtime/index.ts'
import { elements, selections } from '../../support/arbitraries.ts'
import { pick, unravel } from '../../support/oracle.ts'
import { type Arrays, blank, type Edit, type Model, type PlainArray, resized, setAt } from './model.ts'
import type { Real } from './real.ts'

/** One thing that one handle does. */
export abstract class Command implements fc.AsyncCommand<Model, Real, false> {
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
  protected edit(model: Model, name: string, kind: Edit['kind'], change: (arrays: Arrays) => void): void {
    const handle = model.handles[this.handle]!
    change(handle.seen)
    handle.edits.push({ name, kind, change })
  }
}

export class Define extends Command {
  constructor(
    handle: number,
    readonly name: string,
    readonly options: ArrayOptions,
  ) {
    super(handle)
  }
  /**
   * Two handles that change what exists are told of a conflict, which errors.test.ts has: here one does it
   * when nothing is pending.
   */
  override check(model: Readonly<Model>): boolean {
    return !model.handles[this.handle]!.seen.has(this.name) && model.isAlone(this.handle)
  }
  async run(model: Model, { files }: Real): Promise<void> {
    files[this.handle]!.createArray(this.name, this.options)
    const { id } = blank(this.options)
    this.edit(model, this.name, 'define', (arrays) => arrays.set(this.name, { ...blank(this.options), id }))
  }
}

export class Delete extends Command {
  constructor(
    handle: number,
    readonly name: string,
  ) {
    super(handle)
  }
  override check(model: Readonly<Model>): boolean {
    return model.handles[this.handle]!.seen.has(this.name) && model.isAlone(this.handle)
  }
  async run(model: Model, { files }: Real): Promise<void> {
    files[this.handle]!.delete(this.name)
    this.edit(model, this.name, 'delete', (arrays) => arrays.delete(this.name))
  }
}

/** Two handles that resize one array are told of a conflict: see resize.test.ts. */
export class Resize extends Command {
  constructor(
    handle: number,
    readonly name: string,
    readonly lengths: readonly number[],
  ) {
    super(handle)
  }
  override check(model: Readonly<Model>): boolean {
    const array = model.handles[this.handle]!.seen.get(this.name)
    return array !== undefined && array.shape.length > 0 && model.isAlone(this.handle)
  }
  async run(model: Model, { files }: Real): Promise<void> {
    const before = model.handles[this.handle]!.seen.get(this.name)!.shape
    const shape = before.map((length, axis) => this.lengths[axis] ?? length)
    await files[this.handle]!.array(this.name).resize(shape)
    const kind = shape.some((length, axis) => length < before[axis]!) ? 'cut' : 'grow'
    this.edit(model, this.name, kind, (arrays) => arrays.set(this.name, resized(arrays.get(this.name)!, shape)))
  }
}

export class Write extends Command {
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
    // Nor does the fill of what was cut off and added again win over a value that is written there meanwhile.
    const isCut = ({ name, kind }: Edit): boolean => name === this.name && kind === 'cut'
    if (handles.some(({ edits }, i) => i !== this.handle && edits.some(isCut))) return false
    const value = String(this.#value(array))
    return ![...(base.get(this.name)?.data ?? [])].some((each) => String(each) === value)
  }
  async run(model: Model, { files }: Real): Promise<void> {
    const array = model.handles[this.handle]!.seen.get(this.name)!
    const { dtype, shape } = array
    const selection = this.#selection(array)
    const value = this.#value(array)
    await files[this.handle]!.array(this.name).set(selection as [null], (dtype === 'bool' ? value === 1 : value) as never)
    let indices = unravel(shape, pick(shape, selection).flat)
    this.edit(model, this.name, 'write', (arrays) => {
      const now = arrays.get(this.name)!
      // Elements that another handle cut off are gone.
      indices = indices.filter((index) => index.every((k, axis) => k < now.shape[axis]!))
      setAt(now, indices, value)
    })
  }
  #selection({ shape }: PlainArray) {
    return fc.sample(selections(shape), { seed: this.seed, numRuns: 1 })[0]!
  }
  #value({ dtype }: PlainArray): unknown {
    return fc.sample(elements(dtype), { seed: this.seed, numRuns: 1 })[0]
  }
}

export class SetAttribute extends Command {
  constructor(
    handle: number,
    readonly name: string,
    readonly key: string,
    readonly value: string | number | undefined,
  ) {
    super(handle)
  }
  override check(model: Readonly<Model>): boolean {
    const array = model.handles[this.handle]!.seen.get(this.name)
    if (array === undefined) return false
    return this.value !== undefined || (array.attributes.has(this.key) && model.isAlone(this.handle))
  }
  async run(model: Model, { files }: Real): Promise<void> {
    const { attrs } = files[this.handle]!.array(this.name)
    if (this.value === undefined) attrs.delete(this.key)
    else attrs.set(this.key, this.value)
    this.edit(model, this.name, 'attribute', (arrays) => {
      const { attributes } = arrays.get(this.name)!
      if (this.value === undefined) attributes.delete(this.key)
      else attributes.set(this.key, this.value)
    })
  }
}
