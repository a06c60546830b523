import type { DiskArray } from '../../../array/disk-array.ts'
import { type Missing, missingOf } from '../../../array/missing.ts'
import { type BlockSource, bytesOf } from '../../../array/source.ts'
import { type DType, fillElement, isFloat, type ScalarOf } from '../../../core/dtype.ts'
import { invalidArgument, rethrowWithin, within } from '../../../core/errors.ts'
import { floatsIn, markFloats, withoutMembers } from '../../../core/json.ts'
import { sizeOf } from '../../../core/shape.ts'
import type { Signal } from '../../../core/signal.ts'
import { fillTensor, type Tensor, tensorOf, viewTensor } from '../../../core/tensor.ts'
import { encodeChunk } from '../../../engine/write-box.ts'
import { ChunkGrid } from '../../../grid/chunks.ts'
import type { JsonObject } from '../document.ts'
import { withDurationUnit } from '../duration-units.ts'
import { checkPath, groupsAbove } from '../hierarchy.ts'
import type { ZarrArrayMetadata } from '../metadata.ts'
import { isImplied, parseMissing } from '../missing.ts'
import {
  arrayAttributes,
  arrayDocument,
  attributesDocument,
  elementCodec,
  encodeDocument,
  groupDocument,
  missingDocument,
  toStoredType,
  withOneFill,
} from './document.ts'
import { chunkEncoder } from './encode.ts'

/** Arrays by their paths in the store, such as `tas` or `surface/tas`. */
export type NamedArrays = Readonly<Record<string, DiskArray>>

/**
 * Maximum chunk size in bytes. Larger chunks are divided, because a client that requests one gets all of it,
 * uncompressed.
 */
const MOST_CHUNK_BYTES = 16 * 1024 * 1024
const METADATA = 'zarr.json'

/** Parsed key of the store. */
type Node = { readonly path: string; readonly array: DiskArray | undefined; readonly place: string }

/**
 * Presents arrays as the objects of a Zarr store of version 3. Objects are created on request; chunks are
 * uncompressed.
 */
export class ArrayStore {
  readonly #arrays: ReadonlyMap<string, DiskArray>
  /** Attributes of groups, by path. */
  readonly #groups: ReadonlyMap<string, JsonObject>

  /**
   * @param groups attributes of groups by path. Groups that contain arrays exist without attributes, too
   * @throws InvalidArgumentError for names that are not paths, and for names that lead through an array
   */
  constructor(arrays: NamedArrays, groups: Readonly<Record<string, JsonObject>>) {
    this.#arrays = new Map(Object.entries(arrays))
    const all = new Map<string, JsonObject>([['', {}]])
    for (const name of this.#arrays.keys()) {
      if (name === '') invalidArgument('the name of an array is not empty', name)
      checkName(name)
    }
    for (const path of Object.keys(groups))
      if (this.#arrays.has(path)) invalidArgument(`'${path}' is an array, not a group`, path)
    for (const name of [...this.#arrays.keys(), ...Object.keys(groups)]) {
      for (const group of groupsAbove(name)) {
        if (this.#arrays.has(group)) invalidArgument(`'${group}' is an array, and '${name}' cannot lie in it`, name)
        all.set(group, {})
      }
    }
    for (const [path, attributes] of Object.entries(groups)) all.set(path, attributesDocument(attributes))
    this.#groups = all
  }

  /** Returns a whole object; undefined if it does not exist. */
  async get(key: string, signal?: Signal): Promise<Uint8Array | undefined> {
    const { path, array, place } = this.#find(key)
    if (place === METADATA) return encodeDocument(array === undefined ? this.#groupMetadata(path) : derivedDocument(array, path))
    return array && readEncodedChunk(array, path, place, signal)
  }

  /** Returns the keys of all metadata. */
  metadataKeys(): string[] {
    return [...this.#groups.keys(), ...this.#arrays.keys()].map((path) => (path === '' ? METADATA : `${path}/${METADATA}`))
  }

  #find(key: string): Node {
    const names = key.split('/')
    let path = ''
    let depth = 0
    // All groups above a node are known, so the search ends at the first unknown name.
    for (; depth < names.length - 1; depth++) {
      const next = depth === 0 ? names[0]! : `${path}/${names[depth]}`
      if (!this.#arrays.has(next) && !this.#groups.has(next)) break
      path = next
    }
    return { path, array: this.#arrays.get(path), place: names.slice(depth).join('/') }
  }

  #groupMetadata(path: string): JsonObject {
    const attributes = this.#groups.get(path)!
    if (path !== '') return groupDocument(attributes)
    const members = [
      ...[...this.#groups].filter(([group]) => group !== '').map(([group, own]) => [group, groupDocument(own)] as const),
      ...[...this.#arrays].map(([name, array]) => [name, derivedDocument(array, name)] as const),
    ]
    return groupDocument(attributes, Object.fromEntries(members))
  }
}

function checkName(name: string): void {
  checkPath(name, invalidArgument)
  if (name.split('/').some((part) => part === METADATA || part.startsWith('__')))
    invalidArgument(`'${name}' is a name that Zarr keeps for itself`, name)
}

/**
 * Returns the fill value for the metadata. All chunks exist, so no element takes this value. Maps and
 * viewers, however, treat it as missing. For an array without one, such as a computed array, it must
 * therefore not be a valid number.
 */
function singleFillValue(source: BlockSource): ScalarOf<DType> | undefined {
  const { dtype, fillValue } = source
  const { values, nan } = missingOf(source)
  return source.missing?.implied ?? fillValue ?? values[0] ?? (nan || isFloat(dtype) ? Number.NaN : undefined)
}

function derivedDocument(given: DiskArray, array: string): JsonObject {
  const { source } = given
  const { dtype, shape, dimensionNames } = source
  const type = toStoredType(dtype)
  try {
    return arrayDocument({
      shape,
      type,
      chunkShape: regularChunkShape(source),
      codecs: [elementCodec(type)],
      fillValue: singleFillValue(source),
      attributes: storedAttributes(given),
      dimensionNames,
    })
  } catch (error) {
    return rethrowWithin(error, { array })
  }
}

/**
 * Returns the attributes of an array, adjusted so that they name the same missing elements as the array. For
 * durations of Zarr, which are written as integers, they name the unit, too.
 */
export function storedAttributes(array: DiskArray): JsonObject {
  const { source } = array
  const { dtype } = source
  // Arrays of Zarr have metadata. Other formats have no type of durations.
  const { metadata } = array as { metadata?: ZarrArrayMetadata }
  const attrs = metadata === undefined ? source.attrs : withDurationUnit(source.attrs, metadata.type)
  const own = arrayAttributes(withOneFill(attrs, dtype), dtype)
  // Missing times are always NaT.
  if (dtype === 'timestamp_ns') return own
  const missing = missingOf(source)
  const told = { ...missingAttributes(missing, source), ...own }
  // If the format itself defines the missing elements, contradicting attributes have no effect. They would
  // have one in the copy.
  const attributes =
    source.missing === undefined || saysAlike(told, missing, source)
      ? told
      : { ...missingAttributes(missing, source), ...withoutMembers(own, (name) => MISSING.includes(name)) }
  const floats = [...floatsIn(own), ...(isFloat(dtype) ? ['missing_value'] : [])]
  return markFloats(
    attributes,
    floats.filter((name) => name in attributes),
  )
}

const MISSING = ['_FillValue', 'missing_value']

/** Returns the missing value that readers of Zarr know although no attribute names it. */
export function impliedMissing(dtype: DType, implied: unknown, isNamed: boolean): ScalarOf<DType> | undefined {
  return isImplied(toStoredType(dtype), implied, isNamed) ? (implied as ScalarOf<DType>) : undefined
}

const findImplied = ({ dtype, missing, dimensionNames }: BlockSource): ScalarOf<DType> | undefined =>
  impliedMissing(dtype, missing?.implied, dimensionNames !== undefined)

function missingAttributes({ values, nan }: Missing, source: BlockSource): JsonObject {
  const { dtype, fillValue } = source
  const implied = findImplied(source)
  const named = values.filter((value) => value !== implied)
  const missing: readonly ScalarOf<DType>[] = nan ? [...named, Number.NaN] : named
  const first = missing.find((value) => value === fillValue) ?? missing[0]
  const others = missing.filter((value) => value !== first && !(Number.isNaN(value) && Number.isNaN(first)))
  // xarray opens no store with `_FillValue` on text or bytes. For text it reads `missing_value`.
  if (dtype === 'binary') return {}
  if (dtype === 'string') return missing.length === 0 ? {} : { missing_value: others.length === 0 ? first : missing }
  // The implied missing value is not named by `_FillValue`, because the source names it in no attribute.
  if (implied !== undefined) return missing.length === 0 ? {} : attributesDocument(new Map([['missing_value', missing]]))
  return {
    ...(first !== undefined && { _FillValue: missingDocument(first, dtype) }),
    ...(others.length > 0 && attributesDocument(new Map([['missing_value', others]]))),
  }
}

/** Whether attributes name exactly the given missing elements. */
function saysAlike(attrs: JsonObject, { values, nan }: Missing, source: BlockSource): boolean {
  const said = parseMissing({
    version: 3,
    type: toStoredType(source.dtype),
    fillValue: source.missing?.implied,
    attrs,
    isNamed: source.dimensionNames !== undefined,
  })
  const texts = (list: readonly unknown[]): string => [...new Set(list.map(String))].sort().join()
  return said.nan === nan && texts(said.values) === texts(values)
}

/** Returns regular chunk lengths close to those of the array, or smaller ones if those are large. */
function regularChunkShape({ chunks, dtype }: BlockSource): number[] {
  const lengths = chunks.axes.map(({ chunkLength, length }) => Math.max(1, Math.min(chunkLength, length)))
  if (sizeOf(lengths) * bytesOf(dtype) <= MOST_CHUNK_BYTES) return lengths
  return ChunkGrid.estimate(lengths, bytesOf(dtype)).axes.map(({ chunkLength }) => Math.max(1, chunkLength))
}

const INDEX = /^(0|[1-9]\d{0,15})$/

/** Returns the chunk of a key such as `c/0/1`; undefined for other keys. */
async function readEncodedChunk(
  { source }: DiskArray,
  array: string,
  place: string,
  signal: Signal | undefined,
): Promise<Uint8Array | undefined> {
  const [prefix, ...parts] = place.split('/')
  const { dtype, shape, label } = source
  if (prefix !== 'c' || parts.length !== shape.length || !parts.every((part) => INDEX.test(part))) return undefined
  const chunkShape = regularChunkShape(source)
  const starts = parts.map((part, axis) => Number(part) * chunkShape[axis]!)
  if (starts.some((start, axis) => start >= shape[axis]!)) return undefined
  const box = starts.map((start, axis) => ({ start, stop: Math.min(start + chunkShape[axis]!, shape[axis]!), step: 1 }))
  // Chunks at the edge are stored with their full shape.
  const chunk: Tensor = tensorOf(dtype, chunkShape)
  const views = box.map(({ start, stop }) => ({ start: 0, step: 1, length: stop - start }))
  if (views.some(({ length }, axis) => length < chunkShape[axis]!)) fillTensor(chunk, fillElement(dtype, singleFillValue(source)))
  await within({ ...label, array }, async () => source.readBlock(box, viewTensor(chunk, views), { signal }))
  const type = toStoredType(dtype)
  return chunkEncoder([elementCodec(type)], type, chunkShape, [])(encodeChunk(dtype, chunk.data))
}
