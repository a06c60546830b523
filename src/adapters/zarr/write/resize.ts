import { type Axis, resolveAxes } from '../../../array/axes.ts'
import { addedLength, type NewShape, newShape } from '../../../array/new-shape.ts'
import { BLOCK_CHECKS, type BlockOptions } from '../../../array/source.ts'
import { toTensor, type Values } from '../../../array/values.ts'
import { type DType, zeroOf } from '../../../core/dtype.ts'
import { HyperslabError } from '../../../core/errors.ts'
import { forEachLimited } from '../../../core/limiter.ts'
import { checkOptions } from '../../../core/options.ts'
import { checkShape, sameShape } from '../../../core/shape.ts'
import type { Signal } from '../../../core/signal.ts'
import type { Tensor } from '../../../core/tensor.ts'
import type { Box } from '../../../grid/range.ts'
import { boxShape } from '../../../grid/range.ts'
import type { TestedFolders } from '../../../store/links.ts'
import type { ZarrIndex } from '../array-index.ts'
import { checkLinks, parseChunkName } from '../chunk-names.ts'
import { asShape, type JsonObject, showJson } from '../document.ts'
import { parseStored } from '../elements.ts'
import { storedAxes, type ZarrArrayMetadata } from '../metadata.ts'
import type { Claim } from './claim.ts'
import type { NodeWriter } from './nodes.ts'
import { checkLayout, readStored } from './unchanged.ts'
import { fillsOf } from './write-objects.ts'

/** An array whose metadata can be written. */
export interface Growing<D extends DType = DType> {
  readonly index: ZarrIndex<D>
  readonly nodes: NodeWriter
  /** Path relative to the opened location. */
  readonly path: string
}

/** Number of objects that are cut at the same time. */
const AT_ONCE = 8

/**
 * Resizes an array: to all lengths, or along some axes. New elements have the fill value, even if other
 * writers left objects there. Removed elements are deleted after the metadata were published.
 */
export function resizeZarr(array: Growing, to: NewShape): Promise<void> {
  const { index, nodes, path } = array
  const wanted = ({ shape, dimensionNames }: ZarrArrayMetadata): readonly number[] => newShape(to, { shape, dimensionNames })
  return nodes.alone(path, async () => {
    withShape(index.metadata, wanted(index.metadata))
    await nodes.checkUnlinked(path)
    await nodes.claimed(path, undefined, async (claim) => {
      const before = await current(array, claim)
      const shape = wanted(before)
      const after = withShape(before, shape)
      if (shape.some((length, axis) => length > before.shape[axis]!)) await clearBeyond(array, before.shape, after, claim)
      const isCut = shape.some((length, axis) => length < before.shape[axis]!)
      // Throws for links while the array still has its shape.
      if (isCut) await listStoredObjects(array, after)
      await publish(array, before, after, claim)
      if (isCut) await clearBeyond(array, shape, after, claim)
    })
  })
}

/** Writes beyond the end of an axis. Makes the array longer once these elements are stored. */
export function appendZarr<D extends DType>(
  array: Growing<D>,
  axis: Axis,
  values: Values<D>,
  options: BlockOptions,
): Promise<void> {
  checkOptions('append', options, BLOCK_CHECKS)
  const { index, nodes, path } = array
  const { signal } = options
  const planned = (before: ZarrArrayMetadata): { after: ZarrArrayMetadata; box: Box; tensor: Tensor } => {
    const [at] = resolveAxes(axis, before) as unknown as [number]
    const added = [...before.shape]
    added[at] = addedLength(values, added, at)
    const tensor = toTensor(index.dtype, values, added)
    const start = before.shape[at]!
    const stop = start + added[at]!
    const box = added.map((length, i) => (i === at ? { start, stop, step: 1 } : { start: 0, stop: length, step: 1 }))
    return { after: withShape(before, before.shape.with(at, stop)), box, tensor }
  }
  return nodes.alone(path, async () => {
    signal?.throwIfAborted()
    await checkFits(array, planned)
    await nodes.claimed(path, signal, async (claim) => {
      const before = await current(array, claim)
      const { after, box, tensor } = planned(before)
      const holds = (): Promise<void> => claim.holds()
      if (!boxShape(box).includes(0)) await index.writeTo(after, box, tensor, signal, undefined, holds)
      await publish(array, before, after, claim, signal)
    })
  })
}

/** @throws errors of planning, unless the shape of the array has changed meanwhile */
async function checkFits(array: Growing, planned: (before: ZarrArrayMetadata) => unknown): Promise<void> {
  try {
    planned(array.index.metadata)
  } catch {
    planned(await refreshed(array))
  }
}

/** @throws InvalidArgumentError for invalid lengths; UnsupportedError for rectilinear chunks */
function withShape(metadata: ZarrArrayMetadata, shape: readonly number[]): ZarrArrayMetadata {
  checkShape(shape, 'shape')
  const { element } = metadata.type
  if (element !== undefined && shape.at(-1) !== 2) {
    const text = `axis ${shape.length - 1} has the 2 parts of ${element.name} and keeps this length, got ${shape.at(-1)}`
    throw new HyperslabError('InvalidArgumentError', text, { axis: shape.length - 1, actual: shape.at(-1), expected: 2 })
  }
  if (metadata.chunks.every((lengths) => typeof lengths === 'number')) return { ...metadata, shape: [...shape] }
  throw new HyperslabError('UnsupportedError', 'an array with chunks of several lengths keeps its shape')
}

const documentName = ({ version }: ZarrArrayMetadata): string => (version === 3 ? 'zarr.json' : '.zarray')

/**
 * Returns the metadata with the stored shape, which another writer may have changed.
 * @throws ConflictError if another process has replaced the array
 */
async function refreshed({ index }: Growing): Promise<ZarrArrayMetadata> {
  const { metadata } = index
  const { shape: stored } = await readStored(index)
  const shape = [...asShape(stored, 'shape'), ...(metadata.type.element?.shape ?? [])]
  if (!sameShape(shape, metadata.shape)) index.change(withShape(metadata, shape))
  return index.metadata
}

/**
 * Reads the metadata for the holder of a claim. After a takeover it rewrites them, so that the earlier holder
 * can no longer publish its shape. It also removes the objects that the earlier holder left beyond the array.
 */
async function current(array: Growing, claim: Claim): Promise<ZarrArrayMetadata> {
  const { index, nodes, path } = array
  const known = await refreshed(array)
  if (!claim.isTakenOver) return known
  const unchanged = (stored: JsonObject): JsonObject => {
    checkLayout(index, stored)
    return stored
  }
  await nodes.change(path, documentName(known), unchanged, { holds: () => claim.holds() })
  const metadata = await refreshed(array)
  await clearBeyond(array, metadata.shape, metadata, claim)
  return metadata
}

/** @throws ConflictError if another writer has resized the array meanwhile */
async function publish(
  { index, nodes, path }: Growing,
  before: ZarrArrayMetadata,
  after: ZarrArrayMetadata,
  claim: Claim,
  signal?: Signal,
): Promise<void> {
  const change = (stored: JsonObject): JsonObject => {
    checkLayout(index, stored)
    const { shape } = stored
    const { type } = before
    if (!Array.isArray(shape) || !sameShape(shape as number[], storedAxes(before.shape, type))) {
      const text = `another writer has resized the array to ${showJson(shape)}: open it again`
      throw new HyperslabError('ConflictError', text, { actual: shape, expected: before.shape })
    }
    const content = { ...stored, shape: storedAxes(after.shape, type) }
    const { version } = before
    parseStored(version === 3 ? { version, metadata: content } : { version, metadata: content, attributes: {} }, index.label)
    return content
  }
  await nodes.change(path, documentName(before), change, { signal, holds: () => claim.holds() })
  index.change(after)
}

/**
 * Returns the keys of the objects below an array.
 * @throws UnsupportedError for a link behind which more of its chunks may lie
 */
async function listStoredObjects({ index }: Pick<Growing, 'index'>, metadata: ZarrArrayMetadata): Promise<string[]> {
  const { opened, path } = index
  const prefix = path === '' ? '' : `${path}/`
  const keys = await opened.store.list!(prefix, { deep: true })
  const names = keys.map((key) => key.slice(prefix.length))
  checkLinks(opened.store, metadata, prefix, names)
  return keys
}

/** Removes the objects beyond a shape. In objects that lie partly beyond it, writes the fill value there. */
async function clearBeyond(
  { index }: Growing,
  kept: readonly number[],
  metadata: ZarrArrayMetadata,
  claim: Claim,
): Promise<void> {
  const { opened, path } = index
  const objects = await opened.objects()
  const prefix = path === '' ? '' : `${path}/`
  const lengths = metadata.chunks as readonly number[]
  const keys = await listStoredObjects({ index }, metadata)
  const holds = (): Promise<void> => claim.holds()
  const tested: TestedFolders = new Map()
  await forEachLimited(keys, AT_ONCE, async (key) => {
    const coords = parseChunkName(metadata, key.slice(prefix.length))
    if (coords === undefined) return
    const starts = coords.map((k, axis) => k * lengths[axis]!)
    if (starts.some((start, axis) => start >= kept[axis]!)) return objects.remove(key, { holds, tested })
    const stops = starts.map((start, axis) => start + lengths[axis]!)
    // The whole grid of objects up to this one, so that elements beyond the array can be written.
    const whole = { ...metadata, shape: stops }
    for (const [axis, stop] of stops.entries()) {
      if (stop <= kept[axis]!) continue
      const box: Box = starts.map((start, i) => ({
        start: i === axis ? kept[i]! : start,
        stop: i < axis ? Math.min(kept[i]!, stops[i]!) : stops[i]!,
        step: 1,
      }))
      await index.writeTo(whole, box, filled(metadata, box), undefined, undefined, holds)
    }
  })
}

function filled({ type: { dtype }, fillValue, fillValues }: ZarrArrayMetadata, box: Box): Tensor {
  const shape = boxShape(box)
  // The box contains whole elements, with all values along the last axis.
  const stride = shape.map((_, axis) => (fillValues !== undefined && axis === shape.length - 1 ? 1 : 0))
  return { data: fillsOf(dtype, fillValues ?? [fillValue ?? zeroOf(dtype)]), shape, stride, offset: 0 }
}
