import { DiskArray } from '../array/disk-array.js'
import type { DType } from '../core/dtype.js'
import { HyperslabError } from '../core/errors.js'
import type { ArrayState } from './array-state.js'
import { type AttributeMap, Attributes } from './attributes.js'
import { type Container, ContainerSource } from './source.js'

/** How an array is stored. */
export interface ArrayStorage {
  /** Chunks that somebody wrote; the others are fill and take no space. */
  readonly chunks: number
  /** Bytes of the newest version of each, decoded, and their share of the blocks they lie in, as stored. */
  readonly uncompressedBytes: number
  readonly compressedBytes: number
}

/** An array of a container. */
export class FileArray<D extends DType = DType> extends DiskArray<D> {
  readonly name: string
  readonly attrs: Attributes
  readonly #container: Container
  /** @internal */
  readonly state: ArrayState

  /** @internal */
  constructor(container: Container, state: ArrayState) {
    super(new ContainerSource<D>(container, state))
    this.name = state.definition.name
    this.state = state
    this.#container = container
    this.attrs = new Attributes(
      () => state.attributes,
      () => this.changeAttributes(),
    )
  }

  /** What the committed chunks of the array take. */
  storage(): ArrayStorage {
    const sum = { chunks: 0, uncompressedBytes: 0, compressedBytes: 0 }
    for (const number of this.state.numbers()) {
      const address = this.state.find(number)
      if (address === undefined) continue
      sum.chunks++
      sum.uncompressedBytes += address.size
      sum.compressedBytes += (address.size * address.block.compressedBytes) / address.block.uncompressedBytes
    }
    return { ...sum, compressedBytes: Math.round(sum.compressedBytes) }
  }

  /** @internal */
  changeAttributes(): AttributeMap {
    const { readOnly, label } = this.#container
    if (readOnly !== undefined) throw new HyperslabError('ReadOnlyError', readOnly, { file: label, array: this.name })
    this.state.changed = true
    this.state.attributesChanged = true
    return this.state.attributes
  }
}
