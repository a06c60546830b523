import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { AttributeValue } from '../../src/af/format/footer.ts'
import type { DataOf, DType } from '../../src/core/dtype.ts'
import { sizeOf } from '../../src/core/shape.ts'
import { tensorOf } from '../../src/core/tensor.ts'
import { type ArrayFile, create, type FileArray, open, slice } from '../../src/runtime/index.ts'
import { folderInMemory } from '../support/folder.ts'
import { Model, ModelArray } from './model.ts'
import type { Peer } from './peer.ts'
import { boxOf, type Session, type Step, valuesOf } from './steps.ts'
import { wireAttribute, wireData, wireScalar } from './wire.ts'

const FILE = 't.af'

type Side = Session['side']

/** A container on disk that this package and the crate take turns at, and what is in it. */
export class Shared {
  readonly model = new Model()
  readonly path: string
  readonly folder: string
  readonly #peer: Peer

  private constructor(folder: string, peer: Peer) {
    this.folder = folder
    this.path = join(folder, FILE)
    this.#peer = peer
  }

  static async create(peer: Peer, by: 'ours' | 'crate'): Promise<Shared> {
    const shared = new Shared(await folderInMemory('interop'), peer)
    if (by === 'ours') await (await create(shared.path)).close()
    else await peer.do('create', { folder: shared.folder, file: FILE })
    return shared
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true })
  }

  /** Runs a session: opens the container, changes it, flushes and perhaps compacts it. */
  async run(session: Session): Promise<void> {
    if (session.side === 'ours') await this.#runHere(session)
    else await this.#runInCrate(session)
    this.model.flush()
    if (this.#compacts(session)) this.model.compact()
  }

  /** The crate would spoil the statistics of arrays that were made smaller. */
  #compacts({ compact, side }: Session): boolean {
    const { arrays } = this.model
    return compact && (side === 'ours' || ![...arrays.values()].some((array) => this.model.isOutgrown(array)))
  }

  /** Lets the crate open the container. */
  async openInCrate(options: Partial<Session> = {}): Promise<void> {
    await this.#peer.do('open', { folder: this.folder, file: FILE, codec: options.codec, blockBytes: options.blockBytes })
  }

  async #runHere({ codec, blockBytes, steps, compact }: Session): Promise<void> {
    await using file = await open(this.path, { codec: codec === 'zstd' ? 'lz4' : codec, blockBytes, segmentBytes: 30 })
    for (const step of steps) await this.#apply(step, 'ours', file)
    await file.flush()
    if (compact) await file.compact()
  }

  async #runInCrate(session: Session): Promise<void> {
    await this.openInCrate(session)
    for (const step of session.steps) await this.#apply(step, 'crate')
    await this.#peer.do('flush')
    if (this.#compacts(session)) await this.#peer.do('compact')
  }

  /** A step that does not apply, or that the crate is known to get wrong, does nothing. */
  async #apply(step: Step, side: Side, file?: ArrayFile): Promise<void> {
    if (step.kind === 'define') return this.#define(step.name, new ModelArray(step.name, step.options), side, file)
    const array = [...this.model.arrays.values()][step.pick % Math.max(1, this.model.arrays.size)]
    if (array === undefined) return
    const { name, dtype, options } = array
    if (step.kind === 'delete') {
      if (side === 'ours') file!.delete(name)
      else await this.#peer.do('delete', { name })
      this.model.arrays.delete(name)
      this.model.deleted.add(name)
    } else if (step.kind === 'write') {
      // The crate has no element type for bool, and divides by axes of length 0.
      if (side === 'crate' && (dtype === 'bool' || options.shape.includes(0) || this.model.isOutgrown(array))) return
      const { start, shape } = boxOf(options.shape, step.corners)
      const data = valuesOf(array, sizeOf(shape), step.values)
      if (side === 'ours') await setBox(file!.array(name), start, shape, data)
      else await this.#peer.do('write', { name, dtype, start, shape, data: wireData(dtype, data) })
      array.write(start, shape, data as ArrayLike<unknown>)
    } else if (step.kind === 'resize') {
      if (side === 'crate') return
      const shape = options.shape.map((length, axis) => step.lengths[axis] ?? length)
      await file!.array(name).resize(shape)
      array.resize(shape, this.model.layered.get(name) ?? [])
    } else if (step.kind === 'unset') {
      if (side === 'ours') file!.array(name).attrs.delete(step.key)
      if (side === 'ours') array.attributes.delete(step.key)
    } else await this.#setAttribute(array, step.key, step.value, side, file)
  }

  async #define(name: string, array: ModelArray, side: Side, file?: ArrayFile): Promise<void> {
    const { arrays, layered, deleted } = this.model
    if (arrays.has(name)) return
    const below = [...(layered.get(name) ?? [])]
    const { dtype, shape, chunks: chunkShape, dimensionNames, fillValue } = array.options
    if (side === 'ours') {
      // A new array covers lower layers only where it has chunks.
      if (!below.every((coord) => array.hasChunk(coord))) return
      file!.createArray(name, array.options)
    } else {
      // The crate writes no tombstone, and lets everything below show through.
      if (dtype === 'bool' || deleted.has(name) || below.length > 0) return
      const fill = fillValue === undefined ? null : wireScalar(array.fill)
      await this.#peer.do('define', { name, dtype, shape, chunkShape, dimensionNames, fillValue: fill })
    }
    arrays.set(name, array)
  }

  async #setAttribute(
    { name, attributes }: ModelArray,
    key: string,
    value: AttributeValue,
    side: Side,
    file?: ArrayFile,
  ): Promise<void> {
    if (side === 'ours') file!.array(name).attrs.set(key, value)
    else {
      // The crate starts a dictionary of its own, which contradicts those there are.
      if (this.model.hasDictionary) return
      await this.#peer.do('attribute', { name, key, value: wireAttribute(value) })
    }
    this.model.setsAttributes = true
    attributes.set(key, value)
  }
}

/** Writes a dense box. */
export async function setBox(
  array: FileArray,
  start: readonly number[],
  shape: readonly number[],
  data: DataOf<DType>,
): Promise<void> {
  const selection = start.map((from, axis) => slice(from, from + shape[axis]!))
  await array.set(selection, tensorOf(array.dtype, shape, data))
}
