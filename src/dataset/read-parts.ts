import type { DiskArray } from '../array/disk-array.ts'
import { isFixed } from '../core/dtype.ts'
import { isHyperslabError } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import { slice } from '../grid/slice.ts'
import { type Attrs, attributeText, plainAttrs } from './attributes.ts'
import { attributesOfRaw, BOUNDS, boundsOf, decodeBounds } from './cf/bounds.ts'
import { keepStored, storedAs } from './cf/decode.ts'
import { CoordinateMemory, keepMemory } from './coordinate-memory.ts'
import type { DatasetParts } from './coords.ts'
import { type DatasetFile, type DatasetLimits, DECODE_CHECKS, type DecodeOptions } from './dataset-file.ts'
import { createOrigin } from './origin.ts'
import { withDistinctDims } from './repeated-dims.ts'
import { Variable } from './variable.ts'
import { storedArray, withReadIndex } from './with-times.ts'

const LIMITS: Checks<DatasetLimits> = { coordinateBytes: 'integer from 0' }

/** Coordinates that are read together. The store limits the requests. */
const COORDINATES_AT_A_TIME = 256
/** Chunks of a coordinate of texts that are decoded together. */
const TEXT_CHUNKS_AT_A_TIME = 4

/**
 * Decodes the variables of a file, and reads the labels of its dimensions. This module is loaded when a file
 * is opened.
 */
export async function readParts(file: DatasetFile, options: DecodeOptions): Promise<DatasetParts> {
  checkOptions('Dataset.from', options, DECODE_CHECKS)
  const { decode = true, signal, onProgress, limits = {} } = options
  checkOptions('limits', limits, LIMITS)
  const memory = new CoordinateMemory(limits.coordinateBytes)
  const decodeErrors = new Map(file.unreadable)
  const decoded = new Map<string, Variable>()
  const raws = withDistinctDims(file.variables)
  const bounded = new Map(raws.flatMap((raw) => boundsOf(raw).map((name) => [name, raw] as const)))
  for (const raw of raws) {
    try {
      const parts = decode ? decodeBounds(raw, bounded.get(raw.name)) : { ...raw, attrs: plainAttrs(attributesOfRaw(raw)) }
      decoded.set(raw.name, new Variable({ ...parts, unlimited: raw.unlimited, repeated: raw.repeated }))
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      decodeErrors.set(raw.name, error)
    }
  }
  const names = coordinateNames(decoded, file.attrs ?? {})
  const coords = new Map<string, Variable>()
  await forEachLimited([...decoded.values()], COORDINATES_AT_A_TIME, async (variable) => {
    if (!names.has(variable.name)) return
    const isLabels = variable.dims.length === 1 && variable.dims[0] === variable.name
    if (isLabels) memory.take(variable)
    else keepMemory(variable.array, memory)
    coords.set(variable.name, isLabels ? await readIndex(variable, memory, signal) : variable)
    onProgress?.({ done: coords.size, total: names.size })
  })
  const ordered = new Map([...decoded.keys()].filter((name) => coords.has(name)).map((name) => [name, coords.get(name)!]))
  const variables = new Map([...decoded].filter(([name]) => !names.has(name)))
  const origin = file.opened && createOrigin(undefined, 'open', file.opened, decode)
  const { attrs = {}, warnings } = file
  const held = { groupsLeft: file.groupsLeft, close: file.close?.bind(file), version: file.version?.bind(file) }
  return { variables, coords: ordered, attrs, decodeErrors, warnings, ...held, origin }
}

/**
 * Returns the names of coordinates: labels of dimensions, and variables that attributes name, with their
 * bounds.
 */
function coordinateNames(variables: ReadonlyMap<string, Variable>, attrs: Attrs): Set<string> {
  const names = new Set<string>()
  const add = (list: string | undefined): void => {
    for (const name of list?.split(/\s+/) ?? []) if (variables.has(name)) names.add(name)
  }
  add(attributeText(attrs, 'coordinates'))
  for (const { name, dims, attrs, encoding } of variables.values()) {
    if (dims.length === 1 && dims[0] === name) names.add(name)
    add(attributeText(encoding, 'coordinates') ?? attributeText(attrs, 'coordinates'))
  }
  for (const name of [...names]) for (const key of BOUNDS) add(attributeText(variables.get(name)!.attrs, key))
  return names
}

async function readIndex(variable: Variable, memory: CoordinateMemory, signal: Signal | undefined): Promise<Variable> {
  const array = storedArray(variable)
  const data = isFixed(array.dtype) ? (await array.toTensor({ signal })).data : await readTexts(array, variable, memory, signal)
  const labelled = withReadIndex(variable, data as ArrayLike<unknown>)
  keepStored(labelled.array, storedAs(variable.array))
  return labelled
}

/** Reads texts chunk by chunk, and counts each chunk when it is decoded. */
async function readTexts(array: DiskArray, variable: Variable, memory: CoordinateMemory, signal: Signal | undefined) {
  const parts: unknown[][] = []
  const [axis] = array.source.chunks.axes
  await forEachLimited(Array(axis!.count).keys(), TEXT_CHUNKS_AT_A_TIME, async (chunk) => {
    const read: unknown = await array.get([slice(axis!.start(chunk), axis!.stop(chunk))], { signal })
    const part = Array.from((read as { readonly data: ArrayLike<unknown> }).data)
    memory.takeTexts(variable, part)
    parts[chunk] = part
  })
  return parts.flat()
}
