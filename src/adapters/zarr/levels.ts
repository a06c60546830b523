import type { LevelAxis, NodeLevel, NodePyramid } from '../../array/nodes.ts'
import { member } from '../../core/member.ts'
import { asList, asObject, asText, badMetadata, isObject, type JsonObject, showJson, unsupported } from './document.ts'
import { checkPath } from './hierarchy.ts'

/** One level of a pyramid: an array, or a group of arrays. */
export interface PyramidLevel extends Omit<NodeLevel, 'node'> {
  /** Path relative to the group of the pyramid. */
  readonly path: string
}

/** A pyramid whose levels are known by their paths. */
export type Pyramid = NodePyramid<PyramidLevel>

interface Transform {
  readonly scale: readonly number[]
  readonly translation: readonly number[]
}

/** Maximum number of levels; real pyramids have far fewer. */
const MAX_LEVELS = 1000

/**
 * Parses the pyramids in the attributes of a group: those of OME-NGFF up to 0.5, and those of GeoZarr, with a
 * layout or a set of tile matrices. Empty if there are none.
 * @throws FormatError for invalid descriptions; UnsupportedError for transformations other than scales and
 *   translations
 */
export function parseLevels(attrs: JsonObject): readonly Pyramid[] {
  const ome = member(attrs, 'ome')
  const multiscales = (isObject(ome) ? member(ome, 'multiscales') : undefined) ?? member(attrs, 'multiscales')
  if (multiscales === undefined || multiscales === null) return []
  if (Array.isArray(multiscales)) return multiscales.map((one) => parseOme(asObject(one, 'each of multiscales')))
  const geo = asObject(multiscales, 'multiscales')
  const name = member(geo, 'name')
  const levels = member(geo, 'layout') === undefined ? tileLevels(geo) : layoutLevels(member(geo, 'layout'))
  return [{ ...(typeof name === 'string' && { name }), levels }]
}

function parseOme(one: JsonObject): Pyramid {
  const name = member(one, 'name')
  const given = member(one, 'axes')
  const axes = given === undefined ? undefined : asList(given, 'axes').map(parseAxis)
  const outer = parseTransforms(one, axes)
  const levels = atMost(asList(member(one, 'datasets'), 'datasets')).map((dataset) => {
    const members = asObject(dataset, 'each of datasets')
    const inner = parseTransforms(members, axes)
    // The transformation of all levels follows that of one level.
    const transform = inner.length + outer.length === 0 ? undefined : [...inner, ...outer].reduce(chain)
    return { path: asPath(member(members, 'path')), scale: transform?.scale, translation: transform?.translation }
  })
  return { ...(typeof name === 'string' && { name }), ...(axes && { axes }), levels }
}

function parseAxis(axis: unknown): LevelAxis {
  // Up to version 0.3, axes are names.
  if (typeof axis === 'string') return { name: axis }
  const members = asObject(axis, 'each of axes')
  const [type, unit] = [member(members, 'type'), member(members, 'unit')]
  return {
    name: asText(member(members, 'name'), 'the name of an axis'),
    ...(typeof type === 'string' && { type }),
    ...(typeof unit === 'string' && { unit }),
  }
}

function parseTransforms(members: JsonObject, axes: readonly LevelAxis[] | undefined): Transform[] {
  return asList(member(members, 'coordinateTransformations') ?? [], 'coordinateTransformations').flatMap((one) => {
    const transform = asObject(one, 'each of coordinateTransformations')
    const type = member(transform, 'type')
    if (type === 'identity') return []
    if (type !== 'scale' && type !== 'translation')
      return unsupported(`transformations of the type ${showJson(type)} are not read, only scales and translations`, type)
    const values = asNumbers(member(transform, type), type)
    if (axes !== undefined && values.length !== axes.length)
      badMetadata(`the ${type} ${showJson(values)} has ${values.length} values for ${axes.length} axes`, values)
    return type === 'scale' ? { scale: values, translation: zeros(values) } : { scale: ones(values), translation: values }
  })
}

/** Combines two transformations, applied one after the other. */
function chain(first: Transform, then: Transform): Transform {
  const { scale, translation } = then
  if (first.scale.length !== scale.length || first.translation.length !== scale.length)
    badMetadata(`a transformation of ${first.scale.length} axes is followed by one of ${scale.length}`, scale.length)
  return {
    scale: first.scale.map((value, axis) => value * scale[axis]!),
    translation: first.translation.map((value, axis) => value * scale[axis]! + translation[axis]!),
  }
}

/** Returns the levels of a layout. Each may describe how it is derived from another. */
function layoutLevels(layout: unknown): PyramidLevel[] {
  const items = new Map(
    atMost(asList(layout, 'layout')).map((one) => {
      const item = asObject(one, 'each of layout')
      return [asPath(member(item, 'asset')), item]
    }),
  )
  const known = new Map<string, Transform | undefined>()
  const findTransform = (path: string, below: readonly string[]): Transform | undefined => {
    if (known.has(path)) return known.get(path)
    if (below.includes(path)) badMetadata(`the level ${showJson(path)} is derived from itself`, path)
    const item = items.get(path) ?? badMetadata(`a level is derived from ${showJson(path)}, which the layout does not have`, path)
    const source = member(item, 'derived_from')
    const origin = source === undefined ? undefined : findTransform(asText(source, 'derived_from'), [...below, path])
    const own = parseTransform(member(item, 'transform'))
    const transform = own && origin ? chain(own, origin) : (own ?? origin)
    known.set(path, transform)
    return transform
  }
  return [...items.keys()].map((path) => {
    const transform = findTransform(path, [])
    return { path, scale: transform?.scale, translation: transform?.translation }
  })
}

function parseTransform(given: unknown): Transform | undefined {
  if (given === undefined) return undefined
  const transform = asObject(given, 'transform')
  const [scale, translation] = [member(transform, 'scale'), member(transform, 'translation')]
  if (scale === undefined && translation === undefined) return undefined
  const scales = scale === undefined ? ones(asNumbers(translation, 'translation')) : asNumbers(scale, 'scale')
  const translations = translation === undefined ? zeros(scales) : asNumbers(translation, 'translation')
  if (scales.length !== translations.length)
    badMetadata(`a scale of ${scales.length} axes has a translation of ${translations.length}`, translations)
  return { scale: scales, translation: translations }
}

/**
 * Returns the levels of a set of tile matrices, which are named like their groups. Without the set, the
 * matrices with limits count.
 */
function tileLevels(geo: JsonObject): PyramidLevel[] {
  const set = member(geo, 'tile_matrix_set')
  const limits = member(geo, 'tile_matrix_limits') ?? member(geo, 'tile_matrix_set_limits')
  const limited = Array.isArray(limits)
    ? limits.map((limit) => asText(member(asObject(limit, 'each limit'), 'tileMatrix'), 'tileMatrix'))
    : limits === undefined
      ? undefined
      : Object.keys(asObject(limits, 'tile_matrix_limits'))
  if (isObject(set)) {
    const matrices = asList(member(set, 'tileMatrices') ?? member(set, 'tileMatrix'), 'tileMatrices')
    const paths = atMost(matrices).map((one) => {
      const matrix = asObject(one, 'each of tileMatrices')
      return asPath(member(matrix, 'id') ?? member(matrix, 'identifier'))
    })
    return paths.filter((path) => limited?.includes(path) ?? true).map(untransformed)
  }
  if (limited === undefined) return unsupported(`multiscales need a layout or a set of tile matrices, got ${showJson(geo)}`)
  return atMost(limited).map((path) => untransformed(asPath(path)))
}

const untransformed = (path: string): PyramidLevel => ({ path, scale: undefined, translation: undefined })

function asPath(path: unknown): string {
  const text = asText(path, 'the path of a level').replace(/^\.\/|\/$/g, '')
  checkPath(text)
  return text
}

function asNumbers(value: unknown, what: string): number[] {
  return asList(value, what).map((item) => {
    const number = typeof item === 'bigint' ? Number(item) : item
    if (typeof number === 'number' && Number.isFinite(number)) return number
    return badMetadata(`${what} must be a list of numbers, got ${showJson(value)}`, value)
  })
}

function atMost<T>(list: readonly T[]): readonly T[] {
  return list.length <= MAX_LEVELS ? list : badMetadata(`there are ${list.length} levels, more than ${MAX_LEVELS}`, list.length)
}

const ones = (list: readonly unknown[]): number[] => list.map(() => 1)
const zeros = (list: readonly unknown[]): number[] => list.map(() => 0)
