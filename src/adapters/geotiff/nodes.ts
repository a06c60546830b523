import { DiskArray } from '../../array/disk-array.ts'
import type { ArrayNode, GroupNode, NodePyramid, OpenedNodes, StorageInfo } from '../../array/nodes.ts'
import { elementBytes } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { ChunkIndex } from '../../engine/chunk-index.ts'
import type { ObjectStart, StoredAt } from '../../store/store.ts'
import { type GeotiffAttributes, toImageAttributes } from './attributes.ts'
import { createCoordinates, type ImageVariable, splitVariables } from './coordinates.ts'
import type { GeotiffImage } from './image.ts'
import { type OpenGeotiffOptions, openGeotiffFile } from './open.ts'

const TITLE = 'TIFF'
const IMAGE = 'image'
const MASK = 'mask'

/**
 * Opens a TIFF file as a tree. The root has the first image with its coordinates; its reduced versions are in
 * `level_1`, `level_2` …, further images in `page_1`, `page_2` ….
 */
export async function openGeotiffNodes(place: StoredAt, options: OpenGeotiffOptions, start?: ObjectStart): Promise<OpenedNodes> {
  const file = await openGeotiffFile(place, options, start)
  const [first, ...pages] = file.images
  const inner = new Map(pages.map((image, i) => [`page_${i + 1}`, image]))
  return { root: imageNode(first!, '', inner), warnings: [], close: () => file.close() }
}

/**
 * Returns an image as a group of its bands, its mask and its coordinates.
 * @param pages other images, which are groups in it
 */
function imageNode(image: GeotiffImage, path: string, pages: ReadonlyMap<string, GeotiffImage>): GroupNode {
  const levels = image.levels().slice(1)
  const groups = new Map([...levels.map((level, i) => [`level_${i + 1}`, level] as const), ...pages])
  const prefix = path === '' ? '' : `${path}/`
  const variables = readableVariables(image)
  const unreadable = new Map(image.error === undefined ? [] : [[IMAGE, image.error]])
  if (image.mask?.error !== undefined) unreadable.set(MASK, image.mask.error)
  const group = (name: string): GroupNode => {
    const [head, ...rest] = name.split('/').filter((part) => part !== '')
    if (head === undefined) return node
    const found = groups.get(head)
    if (found === undefined) return unknown(image, name, [...groups.keys()], 'group')
    const next = imageNode(found, `${prefix}${head}`, new Map())
    return rest.length === 0 ? next : (next as GroupNode & { find(name: string): GroupNode }).find(rest.join('/'))
  }
  const node: GroupNode & { find(name: string): GroupNode } = {
    kind: 'group',
    path,
    name: path.slice(path.lastIndexOf('/') + 1),
    title: TITLE,
    attrs: image.error === undefined ? image.attrs : toImageAttributes(new Map()),
    hasGroups: true,
    arrays: async () => [...variables.keys()],
    groups: async () => [...groups.keys()],
    unreadable: async () => unreadable,
    array: async (name) => {
      const end = name.lastIndexOf('/') + 1
      if (end > 0) return group(name.slice(0, end)).array(name.slice(end))
      const error = unreadable.get(name)
      if (error !== undefined) throw error
      const variable = variables.get(name)
      return variable === undefined
        ? unknown(image, name, [...variables.keys()], 'array')
        : arrayNode(image, name, prefix + name, variable)
    },
    group: async (name) => group(name),
    levels: async () =>
      levels.length === 0
        ? []
        : [
            pyramid(
              image,
              node,
              levels.map((_, i) => group(`level_${i + 1}`)),
            ),
          ],
    find: group,
  }
  return node
}

/** Returns what is in the group of an image, by name. */
function readableVariables(image: GeotiffImage): Map<string, ImageVariable> {
  if (image.error !== undefined) return new Map()
  const variables = new Map([...splitVariables(image, IMAGE), ...createCoordinates(image)])
  const { mask } = image
  const [height, width] = image.array.shape.slice(image.array.dimensionNames!.indexOf('y'))
  // A mask of another size has no place among the coordinates of the image.
  if (mask !== undefined && mask.error === undefined && mask.array.shape.join() === `${height},${width}`)
    variables.set(MASK, { array: mask.array as unknown as DiskArray, attrs: mask.attrs, image: mask })
  return variables
}

/** An array with the attributes by which readers decode it: those of the image lack scale, units and grid. */
class ImageVariableArray extends DiskArray {
  /** Chunk index of samples; undefined for coordinates. */
  readonly index: ChunkIndex | undefined
  readonly #attrs: GeotiffAttributes

  constructor(array: DiskArray, attrs: GeotiffAttributes) {
    super(array.source)
    this.index = (array as { readonly index?: ChunkIndex }).index
    this.#attrs = attrs
  }

  override get attrs(): GeotiffAttributes {
    return this.#attrs
  }
}

function arrayNode(image: GeotiffImage, name: string, path: string, { array, attrs, image: stored }: ImageVariable): ArrayNode {
  return {
    kind: 'array',
    path,
    name,
    title: TITLE,
    array: new ImageVariableArray(array, attrs),
    attrs,
    isCharacter: false,
    isComplex: stored !== undefined && image.array.index.layout.sample.isComplex,
    storage: async () => (stored === undefined ? { chunkShape: array.chunks.chunkShape } : describeStorage(stored, array)),
  }
}

function describeStorage(image: GeotiffImage, array: DiskArray): StorageInfo {
  const { layout } = image.array.index
  const { compression, predictor, sample } = layout
  const storedBits = sample.bits === 8 * elementBytes(sample.dtype) ? undefined : sample.bits
  const names = [...(predictor === 1 ? [] : [`predictor ${predictor}`]), ...(compression === 'none' ? [] : [compression])]
  return {
    ...(storedBits !== undefined && { storedAs: `${sample.isFloat ? 'float' : 'uint'}${storedBits}` }),
    chunkShape: array.chunks.chunkShape,
    codecs: names.join(', ') || undefined,
    bytes: array.size * elementBytes(sample.dtype),
  }
}

/** Describes an image and its levels: positions are those of the centres of pixels. */
function pyramid(image: GeotiffImage, node: GroupNode, levels: readonly GroupNode[]): NodePyramid {
  const names = image.error === undefined ? image.array.dimensionNames! : []
  const axes = names.map((name) => ({ name, type: name === 'y' || name === 'x' ? 'space' : 'channel' }))
  const places = image.levels().map((level) => {
    if (level.error !== undefined || image.error !== undefined) return { scale: undefined, translation: undefined }
    const [a, b, c, d, e, f] = level.transform ?? pixelTransform(level, image)
    // Rows and columns of rotated images do not lie along the axes.
    if (b !== 0 || d !== 0) return { scale: undefined, translation: undefined }
    const along = (y: number, x: number, other: number): number[] =>
      names.map((name) => (name === 'y' ? y : name === 'x' ? x : other))
    return { scale: along(e, a, 1), translation: along(f + e / 2, c + a / 2, 0) }
  })
  const nodes = [node, ...levels]
  return { name: IMAGE, axes, levels: nodes.map((each, i) => ({ node: each, ...places[i]! })) }
}

/** Returns the transform to pixels of the image, which are at whole numbers. */
function pixelTransform(level: GeotiffImage, image: GeotiffImage): readonly [number, number, number, number, number, number] {
  const axis = (name: string): number => {
    const at = (each: GeotiffImage): number => each.array.shape[each.array.dimensionNames!.indexOf(name)]!
    return at(image) / at(level)
  }
  return [axis('x'), 0, -0.5, 0, axis('y'), -0.5]
}

function unknown(image: GeotiffImage, name: string, names: readonly string[], kind: string): never {
  const text = `there is no ${kind} '${name}' in ${image.name}; there are ${names.join(', ') || 'none'}`
  throw new HyperslabError('UnknownArrayError', text, { actual: name, expected: names })
}
