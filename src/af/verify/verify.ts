import type { Progress } from '../../array/transfers.ts'
import { Codecs } from '../../codec/registry.ts'
import { HyperslabError, within } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { checkCrc } from '../../engine/integrity.ts'
import { crc32cOf } from '../../kernels/crc32c.ts'
import { Absences } from '../../store/absences.ts'
import { STORE_CHECKS, type Store, type StoreOptions } from '../../store/store.ts'
import { type Limits, withDefaultLimits } from '../format/limits.ts'
import { readFooter } from '../format/read-footer.ts'
import { ArrayState } from '../layers/array-state.ts'
import { AMBIGUOUS_ATTRIBUTES } from '../layers/attributes.ts'
import type { OpenOptions } from '../layers/file-options.ts'
import { checksumsIn, Layer, type LayerOptions, readEnd } from '../layers/layer.ts'
import { checkLayerCount } from '../layers/layer-count.ts'
import { listSidecars } from '../layers/listed.ts'
import { OPENINGS } from '../layers/opening.ts'
import { Paths } from '../layers/paths.ts'
import { probe } from '../layers/probed.ts'
import { lostText } from '../layers/settled.ts'
import { besideAt, misplacedBase } from '../layers/sidecar.ts'
import { arraysIn, besideText, Stack } from '../layers/stack.ts'
import type { WorkingCopyOptions } from '../write/container-files.ts'
import { hasGrid } from './block.ts'
import { blocksToRead, checkBlocks, verifyLayer } from './layer.ts'
import { type Finding, Report, type VerifiedCounts } from './report.ts'
import { type LiveArrays, LiveStats, verifyFooterStats, verifyStatsFile } from './statistics.ts'

export type { Finding, VerifiedCounts } from './report.ts'

/** Options of `verify`. */
export interface VerifyOptions extends StoreOptions {
  /**
   * Compare all stored statistics with the elements. Default: false, because it takes as long as a reduction
   * of all arrays.
   */
  readonly deep?: boolean
  /** Receives the progress after each step. */
  readonly onProgress?: (progress: Progress) => void
}

const CHECKS: Checks<VerifyOptions> = { ...STORE_CHECKS, deep: 'boolean', onProgress: 'function' }

/** Options for opening a container to read it. */
type ReadOptions = Pick<OpenOptions, 'codecs' | 'limits' | 'layer' | 'notFound'>

const PATH_CHECKS: Checks<VerifyOptions & ReadOptions> = {
  ...CHECKS,
  codecs: 'list',
  limits: 'object',
  layer: 'integer from 0',
  notFound: 'list of integers',
}

/** Report of `verify`: its `findings`, and the items that it `checked`. */
export interface Verification {
  /** Whether no finding is an error. */
  readonly ok: boolean
  readonly findings: readonly Finding[]
  /** Number of findings beyond the first thousand. */
  readonly omitted: number
  readonly checked: Readonly<VerifiedCounts>
}

/** Settings for reading. */
export type VerifySettings = Pick<WorkingCopyOptions, 'codecs' | 'limits' | 'layer'>

/** @throws InvalidArgumentError for unknown options */
export const checkVerifyOptions = (options: VerifyOptions, file: string): void =>
  checkOptions('verify', options, CHECKS, { file })

/**
 * Verifies a container, which need not be in a state that opens.
 * @throws the errors of {@link verifyContainer}; InvalidArgumentError
 */
export function verifyPath(store: Store, path: string, options: ReadOptions & VerifyOptions): Promise<Verification> {
  return within({ file: store.describe(path) }, async () => {
    checkOptions('verify', options, PATH_CHECKS)
    const settings = { codecs: new Codecs(options.codecs), limits: withDefaultLimits(options.limits), layer: options.layer }
    return verifyContainer(store, new Paths(path), settings, options)
  })
}

/**
 * Checks all layers as they are in the store now: structure, checksums and the decoded size of each block.
 * Reads each block once, with as many in memory as during reads.
 * @throws NotFoundError if the container does not exist; errors of the store
 */
export async function verifyContainer(
  store: Store,
  paths: Paths,
  settings: VerifySettings,
  { signal, onProgress, deep = false }: VerifyOptions,
): Promise<Verification> {
  const report = new Report()
  // Absences of sidecars are confirmed before any result relies on them.
  const absences = new Absences(store)
  const options = { signal, absences, onUnproved: absences.onUnproved }
  const { files, whole } = await absences.settled(() => openLayers(store, paths, settings, report, options), signal)
  // Without a base it is unknown which sidecars count, so all of them are checked.
  const stack = files[0]?.number === 0 ? new Stack(files) : undefined
  const layers = stack?.layers ?? files
  if (stack !== undefined) reportDead(stack, report)
  await reportLeftovers(store, paths, report)
  const live = liveArrays(layers, report)
  const total = layers.reduce((sum, layer) => sum + blocksToRead(layer).length, 0)
  let done = 0
  const onBlock = (): void => onProgress?.({ done: ++done, total })
  for (const layer of layers) await verifyLayer(layer, { live, settings, report, deep, onBlock, signal })
  verifyFooterStats(store.describe(paths.base), live, report, deep)
  // Stored statistics describe the newest state, which is unknown if a layer is missing.
  if (settings.layer === undefined && whole && stack !== undefined)
    await verifyStatsFile(store, paths.stats, stack.described.id, live, settings, report, { deep, signal })
  return { ok: report.errors === 0, findings: report.findings, omitted: report.omitted, checked: report.checked }
}

/**
 * Opens the files that can be parsed, and returns whether these are all. Opens the base last, as reads do.
 */
async function openLayers(
  store: Store,
  paths: Paths,
  settings: VerifySettings,
  report: Report,
  options: LayerOptions,
): Promise<{ files: Layer[]; whole: boolean }> {
  const { layer: last = Number.POSITIVE_INFINITY } = settings
  const listed = store.list === undefined ? undefined : await listedIn(store, paths, report, options)
  const files: Layer[] = []
  let whole = true
  let top = 0
  /** @returns whether the file exists */
  const openFile = async (number: number): Promise<boolean> => {
    const key = number === 0 ? paths.base : paths.sidecar(number)
    if (number > 0 && listed === undefined) checkLayerCount(number, settings.limits, store.describe(paths.base))
    try {
      const open = (name: string) => openLayer(store, name, number, settings, report, options)
      const layer = number === 0 || listed !== undefined ? await open(key) : await probe(store, paths, number, open, options)
      if (layer === undefined) return false
      files.push(layer)
    } catch (error) {
      report.take({ file: store.describe(key) }, error)
      whole = false
    }
    top = Math.max(top, number)
    return true
  }
  await checkListed(store, paths, listed ?? [], settings.limits, options)
  if (listed === undefined) for (let number = 1; number <= last && (await openFile(number)); number++);
  for (const number of listed?.filter((each) => each <= last) ?? []) {
    if (await openFile(number)) continue
    const file = store.describe(paths.sidecar(number))
    throw new HyperslabError('ConflictError', 'another writer has compacted the container meanwhile', { file })
  }
  if (!(await openFile(0))) {
    checkBaseless(store, paths, listed ?? [], report)
    whole = false
  }
  if (top !== last && last !== Number.POSITIVE_INFINITY)
    throw new HyperslabError('NotFoundError', `there is no layer ${last}`, { file: store.describe(paths.base), actual: last })
  return { files: files.sort((a, b) => a.number - b.number), whole }
}

/**
 * Checks the number of sidecars against the limit. Files of footer version 6 are not counted, because they
 * are containers of their own.
 * @throws TooLargeError if there are too many sidecars
 */
async function checkListed(
  store: Store,
  paths: Paths,
  numbers: readonly number[],
  limits: Required<Limits>,
  options: LayerOptions,
): Promise<void> {
  if (numbers.length <= limits.layers) return
  let count = 0
  await forEachLimited(numbers, OPENINGS, async (number) => {
    if ((await besideAt(store, paths, number, options)) === undefined)
      checkLayerCount(++count, limits, store.describe(paths.base))
  })
}

/** Milliseconds that a writer is unlikely to spend on one file. */
const LEFT_BEHIND_MS = 24 * 3600 * 1000

/**
 * Reports temporary files of writers of this container, which perhaps were killed. Any writer in the same
 * folder removes them after a week.
 */
async function reportLeftovers(store: Store, paths: Paths, report: Report): Promise<void> {
  const stem = paths.base.slice(0, -'af'.length)
  for (const { key, size, modified } of (await store.files?.leftovers(paths.base)) ?? []) {
    if (!key.startsWith(stem) || Date.now() - modified < LEFT_BEHIND_MS) continue
    report.warn({ file: store.describe(key) }, `a temporary file of ${size} bytes that a writer has left behind`)
  }
}

/**
 * Reports files that other programs treat as layers although they do not count here, and files of an
 * interrupted compaction.
 */
function reportDead({ dead, beside, closed, base, top }: Stack, report: Report): void {
  for (const each of beside) {
    const { file, number } = each
    if (number < top) report.error({ file }, lostText(each, top))
    else report.warn({ file }, besideText(base))
  }
  for (const { file, identity } of dead) {
    if (identity.kind !== 'void')
      report.warn(
        { file },
        'lies on a base that was replaced, and counts for nothing; other programs see it until something is written here',
      )
  }
  if (closed)
    report.warn(
      { file: base.file },
      'another writer is compacting the container, or died meanwhile; the next writer completes it',
    )
}

/** Opens a layer as `Layer.open` does, but reports tolerable problems as findings. */
async function openLayer(
  store: Store,
  key: string,
  number: number,
  { limits }: VerifySettings,
  report: Report,
  options: LayerOptions,
): Promise<Layer | undefined> {
  const file = store.describe(key)
  const end = await readEnd(store, key, limits, options)
  if (end === undefined) return undefined
  const { info, payload, before, dataBytes } = end
  const footer = await readFooter(payload, dataBytes, limits.typeDepth, (error) => report.take({ file }, error))
  let crcs: Uint32Array | undefined
  try {
    const checksums = checksumsIn(footer, before)
    crcs = checksums?.blocks
    if (checksums !== undefined) checkCrc('the footer', payload, checksums.footer)
  } catch (error) {
    report.take({ file }, error)
  }
  if (footer.overlayIndex === 0 && number > 0 && footer.version !== 6) report.take({ file }, misplacedBase({ file, number }))
  else if (footer.overlayIndex !== number)
    report.warn({ file }, `the file is number ${number} by its name, but ${footer.overlayIndex} by its footer`)
  report.checked.layers++
  const facts = { footerBytes: payload.length, limits, crcs, footerCrc: crc32cOf(payload) }
  const layer = new Layer(store, key, number, info, footer, facts)
  checkBlocks(layer, dataBytes, report)
  return layer
}

/** @throws NotFoundError if there are neither a base nor sidecars */
function checkBaseless(store: Store, paths: Paths, sidecars: readonly number[], report: Report): void {
  const file = store.describe(paths.base)
  if (sidecars.length === 0) throw new HyperslabError('NotFoundError', 'there is no such file', { file })
  report.error({ file }, `there is no base, but ${sidecars.length} sidecars: ${sidecars.map((n) => paths.sidecar(n)).join(', ')}`)
}

/** Returns the numbers of the sidecars, ascending. Reports gaps. */
async function listedIn(store: Store, paths: Paths, report: Report, { signal }: StoreOptions): Promise<number[]> {
  const sidecars = await listSidecars(store, paths, signal)
  const file = store.describe(paths.base)
  const missing = sidecars.findIndex((number, i) => number !== i + 1)
  if (missing >= 0) {
    const text = `there is ${paths.sidecar(sidecars[missing]!)} but no ${paths.sidecar(missing + 1)}: readers that cannot list files do not find it`
    report.warn({ file }, text)
  }
  const stem = paths.sidecar(1).slice(0, -'1.af'.length)
  for (const key of await store.list!(stem, { signal })) {
    const number = /^\+?0*([1-9]\d*)\.af$/.exec(key.slice(stem.length))?.[1]
    if (number !== undefined && key !== paths.sidecar(Number(number)))
      report.warn({ file: store.describe(key) }, `not read here, but the crate array-format treats it as sidecar ${number}`)
  }
  return sidecars
}

/** Returns the arrays of the layers, with undefined for damaged ones. */
function liveArrays(layers: readonly Layer[], report: Report): LiveArrays {
  const live = new Map<string, LiveStats | undefined>()
  for (const [name, array] of arraysIn(layers)) {
    const { file } = array.entries[0]!.layer
    live.set(name, undefined)
    if (!array.entries.every(({ meta }) => hasGrid(meta))) continue
    const state = ArrayState.of(array)
    report.checked.arrays++
    if (state.ambiguous) report.warn({ file, array: name }, AMBIGUOUS_ATTRIBUTES)
    live.set(name, new LiveStats(state))
  }
  return live
}
