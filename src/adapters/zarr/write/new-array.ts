import type { Codec } from '../../../codec/codec.ts'
import { COMPLEX_AXIS } from '../../../core/complex.ts'
import { checkDType, type DType, elementBytes, fillElement, isFixed, type ScalarOf } from '../../../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../../../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../../../core/options.ts'
import { checkShape, showShape } from '../../../core/shape.ts'
import { ChunkGrid } from '../../../grid/chunks.ts'
import type { JsonObject } from '../document.ts'
import { complexPart, elementSteps, parseStored } from '../elements.ts'
import { type CodecMetadata, type ComplexDType, type StoredType, storedAxes, type ZarrArrayMetadata } from '../metadata.ts'
import { planChunks } from '../shards.ts'
import {
  type ArrayFacts,
  arrayAttributes,
  arrayDocument,
  attributesDocument,
  checkedEntries,
  elementCodec,
  groupDocument,
  type NewAttributes,
  shardingCodec,
  toStoredType,
} from './document.ts'
import { chunkEncoder } from './encode.ts'

/** A codec by its name in the metadata of version 3, with its options. */
export interface ZarrCodec {
  /** Name in the metadata. */
  readonly name: string
  /** Options of the codec. Default: those of zarr-python. */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined
}

/** Options of `createGroup`. */
export interface NewZarrGroup {
  /** Attributes of the group, with JSON values. Default: none. */
  readonly attributes?: NewAttributes | undefined
}

/** A data type, or a type of complex numbers, which are read and written as floats. */
export type ZarrDType = DType | ComplexDType

/** Data type that the elements of a new array are read as. */
export type ReadDType<D extends ZarrDType> = D extends DType ? D : D extends 'complex64' ? 'float32' : 'float64'

/** Options of `createArray`. */
export interface NewZarrArray<D extends ZarrDType = DType, S extends readonly number[] = readonly number[]> {
  /**
   * The data type. `'complex64'` and `'complex128'` are arrays of float32 or float64 whose last axis has
   * length 2, the name `complex`, and whole chunks: 0 is the real part, 1 the imaginary part.
   */
  readonly dtype: D
  /** Shape; it can be changed with `resize`. Of complex numbers, it includes the last axis of length 2. */
  readonly shape: S
  /** Shape of a chunk. Default: about 8 MiB for each chunk. */
  readonly chunks?: readonly number[] | undefined
  /** Shape of a shard, an object with several chunks; a multiple of the chunk shape. Default: no shards. */
  readonly shards?: readonly number[] | undefined
  /**
   * Codec that compresses chunks: `'zstd'`, `'gzip'`, `'zlib'`, `'lz4'`, `'blosc'`, `'none'`, or one of them
   * with options, `{ name: 'zstd', configuration: { level: 9 } }`. Default: `'zstd'`.
   */
  readonly codec?: string | ZarrCodec | undefined
  /** All codecs of a chunk in their order, instead of `codec`. */
  readonly codecs?: readonly ZarrCodec[] | undefined
  /** Value of unwritten elements; for complex numbers, both parts. Default: 0, false or empty. */
  readonly fillValue?: (D extends DType ? ScalarOf<D> : readonly [real: number, imaginary: number]) | undefined
  /** Names of the axes; '' for an axis without a name. Default: none. */
  readonly dimensionNames?: readonly string[] | undefined
  /** Attributes of the array, with JSON values. Default: none. */
  readonly attributes?: NewAttributes | undefined
  /** Whether this handle stores chunks that contain only the fill value. */
  readonly writeEmptyChunks?: boolean | undefined
}

const GROUP_CHECKS: Checks<NewZarrGroup> = { attributes: 'object' }

const CHECKS: Checks<NewZarrArray> = {
  dtype: 'string',
  shape: 'list',
  chunks: 'list',
  shards: 'list',
  codec: 'string or plain object',
  codecs: 'list of plain objects',
  fillValue: 'value',
  dimensionNames: 'list of strings',
  attributes: 'object',
  writeEmptyChunks: 'boolean',
}

const CODEC_CHECKS: Checks<ZarrCodec> = { name: 'string', configuration: 'plain object' }

/** Default options of codecs, as in zarr-python. */
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  zstd: { level: 0, checksum: false },
  gzip: { level: 5 },
  zlib: { level: 1 },
  lz4: { acceleration: 1 },
}

/** Metadata document of a new array, with its parsed form. */
export interface NewArray {
  readonly content: JsonObject
  readonly metadata: ZarrArrayMetadata
}

/**
 * @param users codecs of users, which may be used by name
 * @throws InvalidArgumentError, CodecError and UnsupportedError, which name the option that does not fit
 */
export async function newArray(options: NewZarrArray<ZarrDType>, users: readonly Codec[]): Promise<NewArray> {
  checkValue('createArray', 'options', options, 'plain object')
  checkOptions('createArray', options, CHECKS)
  const { dtype, shape, shards, fillValue, dimensionNames, attributes } = options
  checkValue('createArray', 'dtype', dtype, 'string')
  const isComplex = dtype === 'complex64' || dtype === 'complex128'
  if (!isComplex) checkDType(dtype)
  checkShape(shape, 'shape')
  const type = isComplex ? complexPart(dtype)! : toStoredType(dtype as DType)
  if (isComplex) checkComplex(options)
  const chunks = checkChunks(options, type)
  if (dimensionNames !== undefined && dimensionNames.length !== shape.length)
    invalidArgument(`${dimensionNames.length} dimension names for an array of ${shape.length} axes`, dimensionNames)
  const codecs = listCodecs(options, type, users)
  const content = arrayDocument({
    shape: storedAxes(shape, type),
    type,
    chunkShape: storedAxes(shards ?? chunks, type),
    codecs: shards === undefined ? codecs : [shardingCodec(storedAxes(chunks, type), codecs)],
    fillValue: readFill(type, fillValue),
    attributes: arrayAttributes(attributes, isComplex ? dtype : type.dtype),
    dimensionNames: dimensionNames && storedAxes(dimensionNames, type),
  })
  const metadata = parseStored({ version: 3, metadata: content }, {})
  const plan = planChunks(metadata)
  // Arrays that could not be read or written are rejected before anything is stored.
  await elementSteps(plan.codecs, type, chunks, users)
  chunkEncoder(plan.codecs, type, chunks, users)
  return { content, metadata }
}

/** @throws InvalidArgumentError unless the last axis of all options is that of the parts */
function checkComplex({ dtype, shape, chunks, shards, dimensionNames, fillValue }: NewZarrArray<ZarrDType>): void {
  const fail = (option: string, given: unknown, wanted: string): never =>
    invalidArgument(`${dtype}: the last axis has the real and the imaginary part: ${option} must end with ${wanted}`, given)
  for (const [option, lengths] of Object.entries({ shape, chunks, shards }))
    if (lengths !== undefined && lengths.at(-1) !== 2) fail(option, lengths, 'the length 2')
  if (dimensionNames !== undefined && dimensionNames.at(-1) !== COMPLEX_AXIS)
    fail('dimensionNames', dimensionNames, `'${COMPLEX_AXIS}'`)
  if (fillValue !== undefined && !(Array.isArray(fillValue) && fillValue.length === 2))
    invalidArgument(`${dtype}: \`fillValue\` is a list of the real and the imaginary part`, fillValue)
}

/** @throws InvalidArgumentError for a value of another type */
function readFill({ dtype }: StoredType, fillValue: NewZarrArray<ZarrDType>['fillValue']): ArrayFacts['fillValue'] {
  if (fillValue === undefined) return undefined
  if (Array.isArray(fillValue)) return fillValue.map((part) => fillElement(dtype, part) as number)
  const fill = fillElement(dtype, fillValue as ScalarOf<DType>)
  return dtype === 'bool' ? fill === 1 : (fill as ScalarOf<DType>)
}

/**
 * Checks attributes that a caller gives to a new array. Copies of other formats omit these attributes of
 * text.
 * @throws InvalidArgumentError for `_FillValue` and `_Encoding` of text, which readers would apply once more
 */
export function checkOwnAttributes({ dtype, attributes }: NewZarrArray<ZarrDType>): void {
  if (dtype !== 'string' || attributes === undefined) return
  const names = new Set(checkedEntries(attributes).map(([name]) => name))
  const name = ['_FillValue', '_Encoding'].find((each) => names.has(each))
  if (name === undefined) return
  const text = `the attribute '${name}' is not for text; pass \`fillValue\` for elements that are not written`
  throw new HyperslabError('InvalidArgumentError', text, { actual: name })
}

/** Returns the `zarr.json` of a new group. */
export function newGroup(call: string, options: NewZarrGroup): JsonObject {
  checkOptions(call, options, GROUP_CHECKS)
  return groupDocument(attributesDocument(options.attributes))
}

/** Assumed bytes of an element of variable length. */
const GUESSED_BYTES = 64

function checkChunks({ shape, chunks, shards }: NewZarrArray<ZarrDType>, type: StoredType): readonly number[] {
  for (const [name, lengths] of Object.entries({ chunks, shards })) {
    if (lengths === undefined) continue
    checkShape(lengths, name)
    if (lengths.length !== shape.length || lengths.includes(0))
      invalidArgument(
        `${name} ${showShape(lengths)} must have ${shape.length} lengths from 1, as many as the array has axes`,
        lengths,
      )
  }
  if (shards === undefined) {
    const { dtype, element } = type
    const bytes = element?.bytes ?? (isFixed(dtype) ? elementBytes(dtype) : GUESSED_BYTES)
    return chunks ?? [...ChunkGrid.estimate(storedAxes(shape, type), bytes).chunkShape, ...(element?.shape ?? [])]
  }
  if (chunks === undefined) return invalidArgument('shards need the shape of their chunks: pass `chunks`, too', shards)
  if (shards.some((length, axis) => length % chunks[axis]! !== 0))
    invalidArgument(`chunks ${showShape(chunks)} do not divide shards ${showShape(shards)}`, shards)
  return chunks
}

function listCodecs({ codec, codecs }: NewZarrArray<ZarrDType>, type: StoredType, users: readonly Codec[]): CodecMetadata[] {
  const own = elementCodec(type)
  if (codecs !== undefined) {
    if (codec !== undefined) invalidArgument('codec and codecs exclude each other', codec)
    return codecs.map((each) => codecDocument(each, users, type))
  }
  if (codec === 'none') return [own]
  return [own, codecDocument(typeof codec === 'string' ? { name: codec } : (codec ?? { name: 'zstd' }), users, type)]
}

function codecDocument(codec: ZarrCodec, users: readonly Codec[], type: StoredType): CodecMetadata {
  const bytes = type.element?.bytes ?? type.bytes ?? 1
  checkOptions('a codec', codec, CODEC_CHECKS)
  checkValue('a codec', 'name', codec.name, 'string')
  const name = codec.name.replace(/^numcodecs\./, '')
  if (name === 'sharding_indexed')
    throw new HyperslabError('InvalidArgumentError', 'shards are made by the option `shards`, not by a codec')
  const isUsers = users.some((user) => user.name === name)
  const blosc = { typesize: bytes, cname: 'zstd', clevel: 5, shuffle: bytes === 1 ? 'bitshuffle' : 'shuffle', blocksize: 0 }
  if (!isUsers && name === 'blosc') return { name, configuration: { ...blosc, ...codec.configuration } }
  const configuration = isUsers ? codec.configuration : { ...DEFAULTS[name], ...codec.configuration }
  return { name, configuration: configuration ?? {} }
}
