import type { BlockSource } from '../../../array/source.ts'
import type { DType, ScalarOf } from '../../../core/dtype.ts'
import type { ArrayParts } from '../array-index.ts'
import { refuse } from '../cursor.ts'
import type { ArrayHeader } from '../dataset.ts'
import type { ElementPlan } from '../elements/plan.ts'
import { LIMITS } from '../limits.ts'
import type { Layout } from '../messages/layout.ts'
import { checkOthers, type OpenFile } from '../open-file.ts'
import { resolveTiles } from './extent.ts'
import { type Mapping, nameOfBlock, readMappings } from './mappings.ts'
import { countSources, type OnSources, virtualSource } from './source.ts'

/** Name that stands for the file of the virtual array. */
const OWN_FILE = '.'

const leadsTo = (file: string, array: string): string => `elements of the virtual array are in '${array}' of the file '${file}'`

/**
 * Reads the mappings of a virtual array.
 * @throws UnsupportedError for sources in files that are not followed
 */
export async function readSources(
  file: OpenFile,
  { address, object }: Layout & { readonly kind: 'virtual' },
): Promise<Mapping[]> {
  const mappings = await readMappings(file.objects, address, object)
  for (const mapping of mappings) {
    const [name, array] = [nameOfBlock(mapping.file, 0), nameOfBlock(mapping.array, 0)]
    if (name !== OWN_FILE) checkOthers(file, name, leadsTo(name, array)).find(name, file, leadsTo(name, array))
  }
  return mappings
}

/** Virtual arrays that led to an array, and the counter of the operation. */
export interface VirtualChain {
  /** Number of virtual arrays that led here. */
  readonly depth: number
  readonly onSources: OnSources
}

/** Opens an array of a file, by the names of its path. */
type OpenArray = (
  file: OpenFile,
  names: readonly string[],
  chain: VirtualChain,
) => Promise<{ readonly source: BlockSource } | undefined>

/** A virtual array, and the parts of it that descriptions need. */
interface OpenedVirtual {
  readonly source: BlockSource
  readonly description: {
    readonly dataset: ArrayHeader
    readonly plan: ElementPlan
    readonly label: { readonly file: string; readonly array: string }
    readonly fillValue: ScalarOf<DType> | undefined
  }
}

/**
 * Opens a virtual array. Sources of unlimited axes are opened, because their lengths are the length of the
 * array. Others are opened by the reads that meet them.
 * @param chain virtual arrays that led here. Optional: none
 * @throws UnsupportedError for virtual arrays that lead through too many others, or to too many
 */
export async function openVirtual(
  { file, dataset, plan, path, attrs, unwritten, missing, dimensionNames }: ArrayParts,
  mappings: readonly Mapping[],
  chain: VirtualChain | undefined,
  openArray: OpenArray,
): Promise<OpenedVirtual> {
  const { depth, onSources } = chain ?? { depth: 0, onSources: countSources() }
  if (depth > LIMITS.virtualDepth)
    refuse(`virtual arrays lead through more than ${LIMITS.virtualDepth} others, perhaps in a circle`)
  if (unwritten.record !== undefined) refuse('the fill value of a virtual array has several parts, which is not read here')
  onSources(mappings.length)
  const open = async (name: string, array: string, count: OnSources): Promise<BlockSource | undefined> => {
    file.checkOpen()
    count(1)
    const other = name === OWN_FILE ? file : await file.openOther(name, leadsTo(name, array))
    const names = array.split('/').filter((each) => each !== '' && each !== '.')
    return other && (await openArray(other, names, { depth: depth + 1, onSources: count }))?.source
  }
  const { tiles, shape } = await resolveTiles(mappings, dataset.space.shape ?? [0], async (name, array) =>
    (await open(name, array, onSources))?.shape.slice(0, -plan.innerShape.length || undefined),
  )
  const label = { file: file.name, array: path }
  const fillValue = unwritten.fillValue
  const kind = {
    dtype: plan.dtype,
    innerShape: plan.innerShape,
    dimensionNames,
    fillValue,
    missing,
    attrs,
    label,
    origins: file.stored.origins,
    budget: file.options.budget,
    maxElements: file.limits.elements,
    scalar: file.options.scalar,
  }
  return { source: virtualSource(kind, shape, tiles, open), description: { dataset, plan, label, fillValue } }
}
