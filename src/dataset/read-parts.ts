import { isHyperslabError } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import { checkOptions } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import { type Attrs, attributeText, dropAttributes, plainAttrs, type TypedValues } from './attributes.ts'
import { decodeVariable, keepStored, type RawVariable, storedAs } from './cf/decode.ts'
import type { DatasetParts } from './coords.ts'
import { type DatasetFile, DECODE_CHECKS, type DecodeOptions } from './dataset-file.ts'
import { originOf } from './origin.ts'
import { Variable, type VariableParts } from './variable.ts'
import { storedArray, withReadIndex } from './with-times.ts'

/** Coordinates that are read at the same time. */
const COORDINATES_AT_A_TIME = 16

/**
 * What a dataset is made of that is opened, with the labels of its dimensions read. A module of its own: it
 * is of no use before there is something to open.
 */
export async function readParts(file: DatasetFile, options: DecodeOptions): Promise<DatasetParts> {
  checkOptions('Dataset.from', options, DECODE_CHECKS)
  const { decode = true, signal } = options
  const problems = new Map(file.unreadable)
  const decoded = new Map<string, Variable>()
  const boundsOf = boundsByName(file.variables)
  for (const raw of file.variables) {
    try {
      const parts = decode ? decodeWith(raw, boundsOf) : { ...raw, attrs: plainAttrs(raw.attrs ?? raw.array.attrs) }
      decoded.set(raw.name, new Variable(parts))
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      problems.set(raw.name, error)
    }
  }
  const names = coordinateNames(decoded, file.attrs ?? {})
  const coords = new Map<string, Variable>()
  await forEachLimited([...decoded.values()], COORDINATES_AT_A_TIME, async (variable) => {
    if (!names.has(variable.name)) return
    const isLabels = variable.dims.length === 1 && variable.dims[0] === variable.name
    coords.set(variable.name, isLabels ? await readIndex(variable, signal) : variable)
  })
  const ordered = new Map([...decoded.keys()].filter((name) => coords.has(name)).map((name) => [name, coords.get(name)!]))
  const variables = new Map([...decoded].filter(([name]) => !names.has(name)))
  const origin = file.opened && originOf(undefined, 'open', file.opened, decode)
  const { attrs = {} } = file
  return { variables, coords: ordered, attrs, problems, close: file.close?.bind(file), origin }
}

/** The names of coordinates: labels of dimensions, and those that attributes name, with their bounds. */
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

/** Attributes that name bounds: of cells, and of the periods that a climatology is of (CF 7.1, 7.4). */
export const BOUNDS = ['bounds', 'climatology']

/** What bounds are of, by their names. */
function boundsByName(variables: readonly RawVariable[]): Map<string, RawVariable> {
  return new Map(
    variables.flatMap((raw) => {
      const bounds = BOUNDS.map((key) => (raw.attrs ?? raw.array.attrs)?.get(key))
      return bounds.flatMap((name) => (typeof name === 'string' ? [[name, raw] as const] : []))
    }),
  )
}

/** Bounds without units of their own have those of what they are of (CF 7.1); attributes they have not. */
function decodeWith(raw: RawVariable, boundsOf: ReadonlyMap<string, RawVariable>): VariableParts {
  const of = boundsOf.get(raw.name)
  const own: TypedValues | undefined = raw.attrs ?? raw.array.attrs
  const theirs = of && (of.attrs ?? of.array.attrs)
  if (theirs === undefined || own?.get('units') !== undefined) return decodeVariable(raw)
  const names = ['units', 'calendar'].filter((name) => theirs.get(name) !== undefined && own?.get(name) === undefined)
  const inherited = names.map((name) => [name, theirs.get(name)] as const)
  const all = new Map([...Object.entries(plainAttrs(own)), ...inherited])
  const parts = decodeVariable({ ...raw, attrs: Object.assign(all, { typed: (name: string) => own?.typed?.(name) }) })
  return { ...parts, attrs: dropAttributes(parts.attrs, names), encoding: dropAttributes(parts.encoding!, names) }
}

async function readIndex(variable: Variable, signal: Signal | undefined): Promise<Variable> {
  const { data } = await storedArray(variable).toTensor(signal ? { signal } : {})
  const labelled = withReadIndex(variable, data as ArrayLike<unknown>)
  keepStored(labelled.array, storedAs(variable.array))
  return labelled
}
