import { expect } from 'vitest'
import { open } from '../../../src/runtime/index.ts'
import { Command } from './edits.ts'
import { copyOf, freshHandle, isGone, type Model } from './model.ts'
import { expectPast, expectSees, type Real } from './real.ts'

export class Flush extends Command {
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
  async run(model: Model, real: Real): Promise<void> {
    if (model.handles[this.handle]!.stale && real.files[this.handle]!.changed) {
      await expect(real.files[this.handle]!.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
      await new Refresh(this.handle).run(model, real)
    }
    // Opened anew by the refresh where changes had nowhere to go.
    const [file, handle] = [real.files[this.handle]!, model.handles[this.handle]!]
    const { changed } = file
    const before = file.layers().at(-1)!.number
    await file.flush()
    if (changed) {
      const top = file.layers().at(-1)!.number
      // A flush is one layer, also when it deletes and defines an array of one name.
      expect(top).toBe(before + 1)
      model.past.set(top, copyOf(handle.seen))
      model.committed = copyOf(handle.seen)
      for (const other of model.handles) if (other !== handle) other.stale = true
      handle.base = copyOf(handle.seen)
    }
    handle.edits.length = 0
    if (!this.compact || handle.stale) return
    await file.compact()
    model.past.clear()
    model.past.set(0, copyOf(model.committed))
    for (const i of real.files.keys()) if (i !== this.handle) await new Reopen(i).run(model, real)
  }
}

export class Refresh extends Command {
  async run(model: Model, real: Real): Promise<void> {
    const { committed, handles } = model
    const { files } = real
    const handle = handles[this.handle]!
    const gone = handle.edits.some(({ name }) => {
      const own = handle.edits.filter((edit) => edit.name === name)
      return handle.seen.has(name) && isGone(handle.base.get(name), committed.get(name), own)
    })
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
export class Reopen extends Command {
  async run({ committed, handles }: Model, { where, files, options }: Real): Promise<void> {
    await files[this.handle]!.close()
    files[this.handle] = await open(where, options[this.handle])
    handles[this.handle] = freshHandle(committed)
  }
}

export class Check extends Command {
  async run({ handles }: Model, { files }: Real): Promise<void> {
    const { seen, stale } = handles[this.handle]!
    await expectSees(files[this.handle]!, seen, stale)
  }
}

export class CheckPast extends Command {
  run(model: Model, real: Real): Promise<void> {
    return expectPast(model, real)
  }
}
