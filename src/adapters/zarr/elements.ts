import { NOTHING } from '../../array/missing.ts'
import { checkSize } from '../../codec/bounds.ts'
import type { Step } from '../../codec/chain.ts'
import type { Codec } from '../../codec/codec.ts'
import { innerAxisNames } from '../../core/complex.ts'
import {
  allocate,
  type DType,
  type FixedDType,
  fillElement,
  isFixed,
  type ScalarOf,
  type TypedArray,
  toBytes,
} from '../../core/dtype.ts'
import { rethrowWithin } from '../../core/errors.ts'
import { member } from '../../core/member.ts'
import { sizeOf, stridesOf } from '../../core/shape.ts'
import type { BlockOrigin } from '../../engine/block.ts'
import { copyStrided, type ElementBytes } from '../../kernels/copy.ts'
import { absentChunk } from './absent-chunk.ts'
import { chunkSteps } from './codecs.ts'
import { parseNamed, parseTypeV2, parseTypeV3, type TypeV2 } from './data-types.ts'
import { asShape, isObject, type JsonObject } from './document.ts'
import { bytesOfWord, Chain } from './element-chain.ts'
import { parseFillValue } from './fill-values.ts'
import type { ChunkPlan } from './metadata.ts'
import {
  type CodecMetadata,
  type ElementCodec,
  type FieldLocation,
  type FillValues,
  type GivenType,
  type StoredElement,
  type StoredType,
  storedAxes,
  type ZarrArrayMetadata,
} from './metadata.ts'
import { type ArrayDocument, parseArray } from './parse-array.ts'
import { planLevels } from './shards.ts'
import { swapStep } from './swap.ts'
import { parseArrayV2 } from './v2.ts'
import { parseArrayV3 } from './v3.ts'

// Elements that contain several values: complex numbers, and the fields of structures. They are read as
// arrays with more axes at the end. Loaded with the first such array.

type Scalar = ScalarOf<DType>

/**
 * Parses the metadata of an array that has no structures.
 * @param where file and array, for errors
 * @throws FormatError for metadata that violate the format; UnsupportedError for those that cannot be read
 *   here, with the reason
 */
export function parseStored(
  stored: ArrayDocument,
  where: { readonly file?: string; readonly array?: string },
): ZarrArrayMetadata {
  try {
    const complex = complexIn(stored)
    if (complex === undefined) return parseArray(stored, where)
    return parseElements(stored, complex, parseFillValues(member(stored.metadata as JsonObject, 'fill_value'), complex.type))
  } catch (error) {
    return rethrowWithin(error, where)
  }
}

function complexIn({ version, metadata }: ArrayDocument): TypeV2 | undefined {
  if (!isObject(metadata)) return undefined
  if (version === 2) return complexV2(member(metadata, 'dtype'))
  const type = member(metadata, 'data_type')
  const part = type === undefined ? undefined : complexPart(parseNamed(type, 'the data type').name)
  return part && { type: part, endian: undefined }
}

/** Returns the type of complex numbers of version 3 by its name; undefined for other types. */
export function complexPart(name: string): StoredType | undefined {
  const bits = /^complex(64|128)$/.exec(name)?.[1]
  if (bits === undefined) return undefined
  const element = { name, bytes: Number(bits) / 8, shape: [2], isComplex: true }
  return { ...parseTypeV3(`float${Number(bits) / 2}`, {}), element }
}

function complexV2(dtype: unknown): TypeV2 | undefined {
  const [, order, bytes] = /^([<>])c(8|16)$/.exec(String(dtype)) ?? []
  const type = complexPart(`complex${8 * Number(bytes)}`)
  return type && { type, endian: order === '>' ? 'big' : 'little' }
}

/** As `parseTypeV2`, of complex numbers too. */
export const elementTypeV2 = (dtype: unknown): TypeV2 => complexV2(dtype) ?? parseTypeV2(dtype, [])

/** As `parseTypeV3`, of complex numbers too. */
export const elementTypeV3 = (name: string, configuration: JsonObject): StoredType =>
  complexPart(name) ?? parseTypeV3(name, configuration)

/**
 * Converts a fill value of metadata to the values of a stored element; undefined for null. Complex numbers
 * have a pair, or a real number alone.
 */
export function parseFillValues(value: unknown, type: StoredType): Scalar[] | undefined {
  if (value === null || value === undefined) return undefined
  if (type.element === undefined) return [parseFillValue(value, type)!]
  const pair = Array.isArray(value) && value.length === 2 ? value : [value, 0]
  // A part that is null is refused, as an empty text is.
  return pair.map((part) => parseFillValue(part ?? '', type)!)
}

/**
 * Parses an array whose stored elements contain several values.
 * @param fills values of an unwritten element; undefined if the metadata have no fill value
 * @throws FormatError if it has more than 2^53 values, or too many axes
 */
export function parseElements(
  stored: ArrayDocument,
  { type, endian }: Pick<GivenType, 'type' | 'endian'>,
  fills: readonly Scalar[] | undefined,
): ZarrArrayMetadata {
  const { field, isComplex, name } = type.element!
  const fill = commonFill(fills)
  // The fill value of complex numbers makes no element missing, because a part that equals one of its parts
  // may be valid.
  const given = { type, endian, fillValue: isComplex ? undefined : fill.fillValue }
  const parsed =
    stored.version === 3 ? parseArrayV3(stored.metadata, given) : parseArrayV2(stored.metadata, stored.attributes, given)
  // Without a fill value, structures are zeros. So are their times and raw bytes.
  const zero = type.kind === 'raw' && fill.fillValues === undefined ? new Uint8Array(type.bytes!) : undefined
  return {
    ...parsed,
    ...withInnerAxes(parsed, type),
    fillValue: fill.fillValue ?? zero,
    fillValues: fill.fillValues,
    missing: isComplex ? NOTHING : parsed.missing,
    form: {
      ...ELEMENT_CODEC,
      plan: planElements(parsed, type.element!),
      unwritten: fill.fillValues && UNWRITTEN,
      cacheKey: field === undefined ? '' : ` ${name}`,
    },
  }
}

/** Returns the fill value of an array: one value, or those of a stored element if they differ. */
function commonFill(fills: readonly Scalar[] | undefined): FillValues {
  const [first, ...others] = fills ?? []
  const isOne = others.every((value) => Object.is(value, first))
  return isOne ? { fillValue: first } : { fillValue: undefined, fillValues: fills }
}

type Axes = Pick<ZarrArrayMetadata, 'shape' | 'chunks' | 'chunkKey' | 'dimensionNames'>

/** Adds the axes of stored elements at the end of an array. */
function withInnerAxes({ shape, chunks, chunkKey, dimensionNames }: Axes, type: StoredType): Axes {
  const { shape: inner, isComplex } = type.element!
  const names = innerAxisNames(inner, isComplex)
  return {
    shape: asShape([...shape, ...inner], 'shape'),
    chunks: [...chunks, ...inner],
    chunkKey: (coords) => chunkKey(storedAxes(coords, type)),
    dimensionNames: dimensionNames || isComplex ? [...(dimensionNames ?? shape.map(() => '')), ...names] : undefined,
  }
}

/** Adds the axes of stored elements to the chunks of every level. */
function planElements(
  { chunks, codecs }: Pick<ZarrArrayMetadata, 'chunks' | 'codecs'>,
  { shape: inner }: StoredElement,
): ChunkPlan {
  const plan = planLevels(chunks, codecs)
  const axes = inner.map((_, i) => chunks.length + i)
  return {
    objects: [...chunks, ...inner],
    levels: plan.levels.map(({ innerShape, order, ...level }) => ({
      ...level,
      innerShape: [...innerShape, ...inner],
      order: [...order, ...axes],
    })),
    chunks: [...plan.chunks, ...inner],
    codecs: plan.codecs,
  }
}

/** Origin of unwritten chunks. It has no bytes; decoding fills the chunk with the fill values. */
const UNWRITTEN: BlockOrigin = {
  file: 'unwritten',
  version: 'unwritten',
  read: async () => new Uint8Array(0),
  isAbsent: () => true,
}

/** Returns the steps that decode a chunk of any type, as `chunkSteps` of `codecs.ts` does for plain types. */
export async function elementSteps(
  codecs: readonly CodecMetadata[],
  type: StoredType,
  chunkShape: readonly number[],
  users: readonly Codec[],
): Promise<readonly Step[]> {
  const { element, bytes } = type
  const chain = new Chain(type, chunkShape)
  if (element !== undefined) {
    chain.shape = storedAxes(chunkShape, type)
    chain.elementBytes = element.bytes
    chain.numbers = undefined
    if (element.field !== undefined) {
      const word = bytesOfWord(type)
      if (element.field.isBigEndian && word > 1) chain.add(swapStep(word))
      chain.add(fieldStep(element, element.field, bytes!))
      chain.wordBytes = 1
    }
  }
  return chunkSteps(codecs, type, chunkShape, users, chain)
}

/** As `absentChunk`, full of the values of unwritten elements in turn. */
function absentElements(dtype: DType, fill: FillValues, count: number, mostBytes: number): Uint8Array {
  const { fillValues } = fill
  if (fillValues === undefined) return absentChunk(dtype, fill, count, mostBytes)
  const fills = fillValues.map((value) => fillElement(dtype, value))
  const { length } = fills
  if (isFixed(dtype)) {
    const data = allocate(dtype as FixedDType, count) as TypedArray
    for (let i = 0; i < count; i++) data[i] = fills[i % length] as never
    return toBytes(data)
  }
  const values = fills.map((each) => (typeof each === 'string' ? new TextEncoder().encode(each) : (each as Uint8Array)))
  const head = 4 * (count + 1)
  const size = head + (count / length) * values.reduce((sum, value) => sum + value.length, 0)
  checkSize('absent chunk', size, undefined, mostBytes)
  const bytes = new Uint8Array(size)
  const offsets = new DataView(bytes.buffer, 0, head)
  for (let i = 0, end = head; i < count; i++) {
    const value = values[i % length]!
    bytes.set(value, end)
    end += value.length
    offsets.setUint32(4 * (i + 1), end - head, true)
  }
  return bytes
}

/** Decoding of chunks whose elements contain several values. */
export const ELEMENT_CODEC: ElementCodec = { chunkSteps: elementSteps, absentChunk: absentElements }

/**
 * Returns the step that takes a field out of each structure. Runs after all codecs, in kernel memory.
 */
function fieldStep({ bytes, name, shape }: StoredElement, { offset, strides }: FieldLocation, valueBytes: number): Step {
  const size = valueBytes * sizeOf(shape)
  const [outer, run] = [shape.slice(0, strides.length), valueBytes * sizeOf(shape.slice(strides.length))]
  const places = [bytes, ...strides, offset, run]
  const unit = ([8, 4, 2] as ElementBytes[]).find((unit) => places.every((each) => each % unit === 0)) ?? 1
  const from = [...[bytes, ...strides].map((stride) => stride / unit), 1]
  return {
    name: `field ${name}`,
    encodedBytes: (decoded) => (decoded / size) * bytes,
    decodeIn(arena, pointer, length) {
      const copied = [length / bytes, ...outer, run / unit]
      const target = arena.alloc(sizeOf(copied) * unit)
      copyStrided(arena, unit, copied, pointer + offset, from, target, stridesOf(copied))
      return { pointer: target, length: sizeOf(copied) * unit }
    },
  }
}
