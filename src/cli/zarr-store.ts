import type { ZarrArray, ZarrGroup } from '../adapters/zarr/group.ts'
import { groupsAbove } from '../adapters/zarr/hierarchy.ts'
import { planChunks } from '../adapters/zarr/shards.ts'
import { isUnreadable, treeOf, type ZarrTree } from '../adapters/zarr/tree.ts'
import { elementBytes, isFixed } from '../core/dtype.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { withoutSlashes } from '../core/text.ts'
import { openZarr } from '../runtime/zarr.ts'
import { METADATA_PATH, type PlaceFormat, zarrIn } from '../tree/formats.ts'
import { type Location, resolveLocation } from '../tree/location.ts'
import { placeName } from '../tree/place-names.ts'
import { resolveTarget } from '../tree/target.ts'
import { codecWords, storedTypeWords } from './codec-words.ts'
import { type ArrayDescription, type Description, describeJson, type PyramidDescription } from './description.ts'
import { oneLine, UsageError } from './failure.ts'
import { type FoundOptions, unknownAt, zarrLocation } from './found.ts'
import { textAttribute } from './labelled.ts'
import { importFirst } from './netcdf-file.ts'
import { type NotFoundOption, notFoundAt, type PlaceOptions, type ReadingOptions } from './options.ts'
import { printError } from './output.ts'
import type { Place, PlaceContents, PlacedArray } from './place.ts'
import { checkReferences } from './view-references.ts'

/** Number of chunks of an array up to which `info` counts the stored ones. */
const MOST_COUNTED = 2 ** 20

/** A Zarr group or array as a place. Names of arrays are paths. */
class ZarrPlace implements Place {
  readonly location: string
  readonly #root: ZarrGroup | ZarrArray
  readonly #format: PlaceFormat
  /** Path of the group to which names are relative, with a slash at the end; '' for the place itself. */
  readonly #within: string

  constructor(location: string, format: PlaceFormat, root: ZarrGroup | ZarrArray, group = '') {
    this.location = location
    this.#format = format
    this.#root = root
    const path = trimmed(group)
    this.#within = path === '' ? '' : `${path}/`
  }

  /** Returns the group to which names are relative, or the array if the place is one. */
  async #top(): Promise<ZarrGroup | ZarrArray> {
    const root = this.#root
    return this.#within === '' || root.kind === 'array' ? root : root.group(this.#within.slice(0, -1))
  }

  #shown(path: string): string {
    return path.slice(this.#within.length)
  }

  async array(name: string): Promise<PlacedArray> {
    const root = this.#root
    if (root.kind === 'array') {
      const own = ownName(this.location)
      if (name === own || name === '.') return { name: own, array: root }
      const text = `there is no such array; the only one is '${own}'`
      throw new HyperslabError('UnknownArrayError', text, { file: this.location, array: name, actual: name, expected: [own] })
    }
    const path = this.#within + trimmed(name)
    try {
      return { name: path, array: await root.array(path) }
    } catch (error) {
      if (!isHyperslabError(error, 'UnknownArrayError')) throw error
      const names = await this.#names()
      if (names === undefined) throw error
      const text = `there is no such array; there are ${names.join(', ') || 'none'}`
      throw new HyperslabError(error.tag, text, { ...error.details, actual: name, expected: names })
    }
  }

  /**
   * Returns the arrays of its group and of all groups above. If groups cannot be listed, returns the arrays
   * that it names.
   */
  async arraysBeside({ name, array }: PlacedArray): Promise<readonly PlacedArray[]> {
    if (this.#root.kind === 'array') return []
    const found: PlacedArray[] = []
    for (const path of ['', ...groupsAbove(name)].reverse()) {
      const group = path === '' ? this.#root : await this.#root.group(path)
      const named = [...(array.dimensionNames ?? []), ...(textAttribute(array, 'coordinates')?.split(/\s+/) ?? [])]
      const names = (await unlessUntold(() => group.arrays())) ?? [...new Set(named)].filter((each) => /^[^/]+$/.test(each))
      for (const each of names) {
        try {
          found.push({ name: path === '' ? each : `${path}/${each}`, array: await group.array(each) })
        } catch (error) {
          if (!isUnreadable(error) && !isHyperslabError(error, 'UnknownArrayError', 'InvalidArgumentError')) throw error
        }
      }
    }
    return found
  }

  async contents(): Promise<PlaceContents> {
    const { groups, arrays, unreadable } = await this.#tree()
    return {
      arrays: arrays.map((array) => ({ name: this.#shown(array.path) || ownName(this.location), array })),
      groups: new Map(groups.map(({ path, attrs }) => [this.#shown(path), attrs])),
      leftOut: [...unreadable].map(([name, error]) => `${this.#shown(name)}: ${reasonIn(error)}`),
    }
  }

  async #tree(): Promise<ZarrTree> {
    const root = await this.#top()
    return zarrErrors(this.location, CONTAINER, () => treeOf(root))
  }

  async describe(): Promise<Description> {
    const root = await this.#top()
    const { groups, arrays, unreadable } = await this.#tree()
    const problems: string[] = []
    const pyramids: PyramidDescription[] = []
    for (const group of groups) {
      try {
        pyramids.push(...(await describePyramids(group, this.#shown(group.path))))
      } catch (error) {
        if (!isUnreadable(error) && !isHyperslabError(error, 'UnknownArrayError')) throw error
        problems.push(error.message)
      }
    }
    const consolidated = root.kind === 'array' ? '' : root.consolidated ? ', consolidated' : ', not consolidated'
    const holder = { zip: ' in a zip archive', references: ' by references' }[this.#format as string] ?? ''
    return {
      file: this.location,
      format: `Zarr ${root.version}${holder}${consolidated}`,
      arrays: await Promise.all(
        arrays.map(async (array) => ({
          ...describeArray(array, this.#shown(array.path) || ownName(this.location)),
          ...(await storedChunksOf(array)),
        })),
      ),
      attributes: root.kind === 'array' ? new Map() : describeJson(root.attrs),
      groups: groups
        .filter(({ path }) => path !== root.path)
        .map(({ path, attrs }) => ({
          path: this.#shown(path),
          arrays: arrays.filter((array) => array.path.slice(0, -array.name.length - 1) === path).length,
          attributes: describeJson(attrs),
        })),
      pyramids,
      layers: [],
      unreadable: [...unreadable].map(([name, error]) => ({ name: this.#shown(name), reason: reasonIn(error) })),
      problems,
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#root.close()
  }

  async #names(): Promise<string[] | undefined> {
    const tree = await unlessUntold(async () => treeOf(await this.#top()))
    return tree?.arrays.map(({ path }) => this.#shown(path))
  }
}

/** Removes slashes at the ends of a path. */
const trimmed = (path: string): string => withoutSlashes(path)

/** Returns the message of an error without its file and array, which are known. */
function reasonIn({ message, details: { file, array } }: HyperslabError): string {
  let text = message
  for (const part of [file, array === undefined ? undefined : `array '${array}'`])
    if (part !== undefined && text.startsWith(`${part}: `)) text = text.slice(part.length + 2)
  return text
}

/** Whether an error means that the members of a group cannot be listed. */
const isUntold = (error: unknown): boolean => isHyperslabError(error, 'UnsupportedError') && error.details.expected === 'names'

const untold = (file: string): HyperslabError =>
  new HyperslabError(
    'UnsupportedError',
    'the place cannot be listed, and the group has no consolidated metadata; --names gives the paths of its arrays',
    { file },
  )

/** Runs work; returns undefined if it needs members of groups that cannot be listed. */
async function unlessUntold<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isUntold(error)) return undefined
    throw error
  }
}

/** Returns the name of an array that is opened by itself. */
const ownName = (location: string): string => placeName(location.replace(METADATA_PATH, ''))

function describeArray(array: ZarrArray, name: string): ArrayDescription {
  const { metadata, dtype, shape } = array
  const { levels, objects, chunks, codecs } = planChunks(metadata.chunks, metadata.codecs)
  const storedAs = storedTypeWords(metadata.type)
  return {
    name,
    dtype,
    ...(storedAs !== undefined && { storedAs }),
    shape,
    dimensionNames: array.dimensionNames ?? [],
    chunkShape: chunks,
    ...(levels.length > 0 && { shardShape: objects }),
    codecs: codecWords(codecs),
    chunks: array.chunks.count,
    ...(isFixed(dtype) && { bytes: array.size * elementBytes(dtype) }),
    valueType: dtype,
    fillValue: array.fillValue,
    missing: array.missing,
    attributes: describeJson(array.attrs),
  }
}

/**
 * Counts the stored chunks of an array in a local folder. Elsewhere, listing would take a request for each
 * thousand of them. Arrays with shards are skipped, because only the shards know their chunks.
 */
async function storedChunksOf({ index, metadata }: ZarrArray): Promise<{ readonly storedChunks?: number }> {
  const { store } = index.opened
  const hasShards = planChunks(metadata.chunks, metadata.codecs).levels.length > 0
  if (store.localPath === undefined || hasShards || index.objectCount > MOST_COUNTED) return {}
  const keys = new Set(await store.list?.(index.path === '' ? '' : `${index.path}/`, { deep: true }))
  let storedChunks = 0
  for (const key of index.objectKeys()) if (keys.has(key)) storedChunks++
  return { storedChunks }
}

async function describePyramids(group: ZarrGroup, path: string): Promise<PyramidDescription[]> {
  return (await group.levels()).map(({ name, axes, levels }) => ({
    group: path,
    name,
    axes,
    levels: levels.map(({ node, scale, translation }) => ({
      path: node.path.slice(group.path === '' ? 0 : group.path.length + 1),
      ...(node.kind === 'array' && { shape: node.shape }),
      scale,
      translation,
    })),
  }))
}

export const CONTAINER = 'container (.af)'

/**
 * Opens a Zarr store of any kind.
 * @throws UsageError for a group of an array
 */
export function openStore(
  location: string,
  format: PlaceFormat,
  { names, group, ...options }: PlaceOptions,
  reading: ReadingOptions = {},
  isConfined = false,
): Promise<Place> {
  return zarrErrors(location, CONTAINER, async () => {
    const at = isConfined ? await confinedStoreAt(location, format, options) : await storeAt(location, format, options)
    if (format === 'zip') await printWarnings(at)
    const root = await openZarr(at, { names, ...reading })
    if (root.kind === 'array' && group !== undefined) throw new UsageError(`--group is for groups, and ${location} is an array`)
    return new ZarrPlace(location, format, root, group)
  })
}

/** Prints warnings about unusual costs of reading an archive. */
async function printWarnings(archive: Location): Promise<void> {
  const { store, path } = await resolveLocation(archive)
  for (const warning of (await store.warnings?.(path)) ?? []) printError(`warning: ${oneLine(warning)}`)
}

/**
 * Converts errors to advice for users of the command.
 * @param other alternative format named in the message
 */
export async function zarrErrors<T>(file: string, other: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isHyperslabError(error, 'NotFoundError'))
      throw await unknownAt(file, `neither a ${other} nor a Zarr array or group`, error)
    throw isUntold(error) ? untold(file) : error
  }
}

/**
 * Returns the location of a Zarr store whose references are checked.
 * @throws UnsupportedError for references that lead out of their folder
 */
async function confinedStoreAt(location: string, format: PlaceFormat, options: NotFoundOption): Promise<Location> {
  const place = await resolveTarget(location, notFoundAt(location, options))
  if (format === 'references') await checkReferences(place)
  return zarrIn(place, format)
}

/**
 * Returns the location of a Zarr store.
 * @throws UnsupportedError for classic NetCDF, which must be imported first
 */
export function storeAt(location: string, format: PlaceFormat, options: FoundOptions): Promise<Location> {
  if (format === 'netcdf') throw importFirst(location, 'which has no checksums that could be verified')
  return zarrLocation(location, format, options)
}
