import { toBigEndian } from '../adapters/netcdf/write/elements.ts'
import { type NetcdfKind, type NewContent, type NewLayout, placeVariables } from '../adapters/netcdf/write/header.ts'
import { checkDistinctNames, checkedName } from '../adapters/netcdf/write/names.ts'
import { arrayOrder } from '../array/iteration.ts'
import { copyInOrder, copyRegion, type RegionMemory } from '../array/lazy/rechunk-to.ts'
import { type BlockSource, bytesOf } from '../array/source.ts'
import { type DataOf, type DType, fromBytes } from '../core/dtype.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { sizeOf } from '../core/shape.ts'
import { ChunkGrid } from '../grid/chunks.ts'
import type { Stage } from '../store/store.ts'
import { type Location, resolveLocation } from '../tree/location.ts'
import { collectDimensions } from './netcdf-dimensions.ts'
import { type ScanOptions, sinkFor } from './netcdf-storage.ts'
import { headerAttributes, type StoredVariable, storeVariable } from './netcdf-variables.ts'
import { checkSources, isStored, placesRead } from './replace/apart.ts'
import { writeFile } from './replace/file.ts'
import type { HereOptions } from './run.ts'
import { watchSources } from './source-versions.ts'
import type { ZarrExport } from './stored-arrays.ts'
import { heldBytes } from './tasks.ts'

/** Options of writing NetCDF. */
export interface NetcdfOptions extends HereOptions {
  /** Version of the format. Default: the lowest one that can hold the content. */
  readonly kind?: NetcdfKind | undefined
  /** Names of unlimited dimensions. One becomes the record dimension. Default: those of the source. */
  readonly unlimited?: readonly string[] | undefined
  /** Whether to replace an existing NetCDF file. */
  readonly overwrite?: boolean | undefined
  /** Locations that are read while the file is written. The target must not be among them. */
  readonly sources?: readonly Location[] | undefined
}

/** Arrays and attributes, with the warnings of reading them. */
interface NetcdfContent extends ZarrExport {
  readonly warnings?: readonly string[]
}

interface NetcdfResult {
  readonly arrays: readonly string[]
  readonly bytes: number
  readonly warnings: readonly string[]
}

/**
 * Writes arrays sequentially into a classic NetCDF file. The file appears when it is complete.
 * @throws AlreadyExistsError if the file exists and `overwrite` is not set; InvalidArgumentError for names
 *   that NetCDF does not allow, and if a source is the target; UnsupportedError for groups, and for values
 *   that the requested kind cannot hold; ReadOnlyError; errors of reading the arrays
 */
export async function writeNetcdf(given: NetcdfContent, location: Location, options: NetcdfOptions): Promise<NetcdfResult> {
  const place = await resolveLocation(location)
  const { sources = [], overwrite = false, signal } = options
  try {
    const file = place.store.describe(place.path)
    await within({ file }, async () => checkContent(given))
    await checkSources([...sources, ...(await placesRead(given.arrays))], place)
    const writing = { overwrite, kind: async () => 'netcdf', signal }
    const warnings = [...(given.warnings ?? [])]
    const bytes = await within({ file }, () =>
      writeFile(place, writing, async (stage) => {
        const unchanged = await watchSources(given.arrays, signal)
        const content = await prepare(given, options, warnings)
        await new NetcdfWriter(content, stage, warnings, options).write()
        await unchanged(signal)
      }),
    )
    return { arrays: given.arrays.map(({ name }) => name), bytes, warnings }
  } finally {
    if (!isStored(location)) await place.store.close?.()
  }
}

/** @throws UnsupportedError for groups; InvalidArgumentError for names that NetCDF does not allow */
function checkContent({ arrays, groups = new Map() }: ZarrExport): void {
  const group = [...groups.keys()].find((path) => path !== '') ?? arrays.find(({ name }) => name.includes('/'))?.name
  if (group !== undefined) {
    const text = `classic NetCDF has no groups and no slashes in names: write the variables of one group, or rename '${group}'`
    throw new HyperslabError('UnsupportedError', text, { actual: group })
  }
  const names = arrays.map(({ name }) => checkedName(name, 'the variable', undefined))
  checkDistinctNames(names, 'variables', undefined)
  for (const { name, dimensionNames, attributes } of arrays) {
    for (const each of dimensionNames) checkedName(each, 'the dimension', name)
    for (const each of attributes.keys()) checkedName(each, 'the attribute', name)
  }
}

/** A file to be written: the positions of its parts, and its variables. */
interface NewFile {
  readonly layout: NewLayout
  readonly variables: readonly StoredVariable[]
}

const KINDS = [1, 2, 5] as const

/** Finds the type and the position of each variable in the file. */
async function prepare(given: ZarrExport, options: NetcdfOptions, warnings: string[]): Promise<NewFile> {
  const { kind, unlimited = given.unlimited ?? [], maxBytes, signal } = options
  const variables: StoredVariable[] = []
  for (const each of given.arrays) {
    const scan: ScanOptions = { maxBytes: heldBytes(each, maxBytes), signal }
    variables.push(await storeVariable(each, kind, warnings, scan))
  }
  const { dimensions, recordId, ids } = collectDimensions(variables, unlimited, warnings)
  const content: NewContent = {
    dimensions,
    recordId,
    attributes: headerAttributes(given.attributes, kind, undefined, warnings),
    variables: variables.map(({ exported: { name }, type, attributes }, i) => ({
      name: name.normalize('NFC'),
      type,
      dimensionIds: ids[i]!,
      attributes,
    })),
  }
  let reason = ''
  for (const each of kind === undefined ? KINDS : [kind]) {
    const layout = placeVariables(each, content)
    if (typeof layout === 'string') {
      reason = layout
      continue
    }
    if (each === 5 && kind === undefined)
      warnings.push(`the file is CDF-5, which not all programs read, because ${reason}; CDF-1 and CDF-2 cannot hold that`)
    return { layout, variables }
  }
  const other = KINDS.find((each) => kind !== undefined && each > kind && typeof placeVariables(each, content) !== 'string')
  const advice = other === undefined ? 'select a part of them' : `CDF-${other} can (\`kind: ${other}\`)`
  const text = `CDF-${kind ?? 5} cannot hold the data: ${reason}; ${advice}`
  throw new HyperslabError('UnsupportedError', text, { actual: reason })
}

/** Size of a part in bytes, unless a row of chunks is larger. Larger parts need memory and save no read. */
const ENOUGH_BYTES = 16 * 1024 * 1024

/** Contiguous elements of the file: of one variable, or whole records of all record variables. */
interface Piece {
  readonly variables: readonly { readonly variable: StoredVariable; readonly regions: ChunkGrid; readonly number: number }[]
  /** Number of whole records; 0 for elements of one variable. */
  readonly records: number
  /** Number of padding bytes after the elements. */
  readonly padding: number
}

/** Writes the header and all elements. */
class NetcdfWriter {
  readonly #file: NewFile
  readonly #stage: Stage
  readonly #warnings: string[]
  readonly #options: NetcdfOptions
  /** Variables that have caused a warning about values that read as missing. */
  readonly #warned = new Set<StoredVariable>()

  constructor(file: NewFile, stage: Stage, warnings: string[], options: NetcdfOptions) {
    this.#file = file
    this.#stage = stage
    this.#warnings = warnings
    this.#options = options
  }

  async write(): Promise<void> {
    const { onProgress, signal } = this.#options
    await this.#stage.append(this.#file.layout.header)
    let total = 0
    for (const _ of this.#pieces()) total++
    let done = 0
    await copyInOrder(this.#pieces(), 2, async (piece, { memory, turn = async () => undefined }) => {
      signal?.throwIfAborted()
      await (piece.records > 0 ? this.#writeRecords(piece, memory, turn) : this.#writePart(piece, memory, turn))
      onProgress?.({ done: ++done, total })
    })
  }

  /** Yields all pieces in the order of the file. */
  *#pieces(): Generator<Piece> {
    const { variables, layout } = this.#file
    const { records, slabs } = layout
    const growing = variables.filter((_, i) => slabs[i]!.isRecord)
    for (const [i, variable] of variables.entries()) {
      if (slabs[i]!.isRecord) continue
      yield* this.#parts(variable, slabs[i]!.room - slabs[i]!.bytes)
    }
    if (records === 0) return
    if (growing.length === 1) {
      yield* this.#parts(growing[0]!, 0)
      return
    }
    const recordBytes = slabs.reduce((sum, { isRecord, room }) => sum + (isRecord ? room : 0), 0)
    const held = Math.min(...growing.map((each) => this.#held(each))) / 2
    const memory = growing.map(
      ({ exported: { array }, elementBytes }) => sizeOf(array.shape.slice(1)) * Math.max(elementBytes, bytesOf(array.dtype)),
    )
    const atOnce = Math.floor(held / (recordBytes + Math.max(...memory)))
    if (atOnce >= 1) {
      const parts = growing.map((variable) => {
        const { shape } = variable.exported.array
        const lengths = shape.map((length, axis) => (axis === 0 ? Math.min(records, atOnce) : Math.max(1, length)))
        return { variable, regions: ChunkGrid.regular(shape, lengths) }
      })
      for (let number = 0, start = 0; start < records; start += atOnce, number++)
        yield { variables: parts.map((each) => ({ ...each, number })), records: Math.min(atOnce, records - start), padding: 0 }
      return
    }
    for (let record = 0; record < records; record++)
      for (const [i, variable] of variables.entries())
        if (slabs[i]!.isRecord) yield* this.#parts(variable, slabs[i]!.room - slabs[i]!.bytes, record)
  }

  /** Yields the parts of a variable, or of one record of it. */
  *#parts(variable: StoredVariable, padding: number, record?: number): Generator<Piece> {
    const { array } = variable.exported
    const { shape, chunks, dtype } = array
    const rowOfChunks = (chunks.axes[0]?.chunkLength ?? 1) * sizeOf(shape.slice(1)) * bytesOf(dtype)
    const bytes = Math.min(this.#held(variable) / 2, Math.max(rowOfChunks, ENOUGH_BYTES))
    const whole = arrayOrder({ shape, chunks, dtype } as BlockSource, bytes)
    const regions = record === undefined ? whole : ChunkGrid.regular(shape, [1, ...whole.chunkShape.slice(1)])
    const count = record === undefined ? regions.count : regions.count / shape[0]!
    const first = count * (record ?? 0)
    for (let number = first; number < first + count; number++)
      yield {
        variables: [{ variable, regions, number }],
        records: 0,
        padding: number + 1 === first + count ? padding : 0,
      }
  }

  #held({ exported }: StoredVariable): number {
    return heldBytes(exported, this.#options.maxBytes)
  }

  /** Writes elements of one variable. */
  async #writePart({ variables: [part], padding }: Piece, memory: RegionMemory, turn: () => Promise<void>): Promise<void> {
    const { variable, regions, number } = part!
    await this.#read(variable, regions, number, { memory, turn }, async (bytes) => {
      await this.#stage.append(bytes)
      if (padding > 0) await this.#stage.append(new Uint8Array(padding))
    })
  }

  /** Writes whole records of all record variables. */
  async #writeRecords({ variables, records }: Piece, memory: RegionMemory, turn: () => Promise<void>): Promise<void> {
    const rooms = this.#file.layout.slabs.filter(({ isRecord }) => isRecord)
    const recordBytes = rooms.reduce((sum, { room }) => sum + room, 0)
    const out = new Uint8Array(records * recordBytes)
    let at = 0
    for (const [i, { variable, regions, number }] of variables.entries()) {
      const { bytes: slab, room } = rooms[i]!
      const start = at
      await this.#read(variable, regions, number, { memory }, (bytes) => {
        for (let record = 0; record < records; record++)
          out.set(bytes.subarray(record * slab, (record + 1) * slab), start + record * recordBytes)
      })
      at += room
    }
    await turn()
    await this.#stage.append(out)
  }

  /** Reads a region of a variable, and passes its stored form to `use`. */
  async #read(
    variable: StoredVariable,
    regions: ChunkGrid,
    number: number,
    region: { readonly memory: RegionMemory; readonly turn?: () => Promise<void> },
    use: (bytes: Uint8Array) => Promise<void> | void,
  ): Promise<void> {
    const { signal } = this.#options
    const { source } = variable.exported.array
    const sink = sinkFor(source, (data) => use(this.#encode(variable, data)))
    await within(source.label ?? {}, () => copyRegion(source, sink, regions, number, { ...region, signal }))
  }

  #encode(variable: StoredVariable, data: DataOf<DType>): Uint8Array {
    const { type, elementBytes, defaultFill, textBytes, exported } = variable
    const bytes = variable.encode(data)
    if (type === 'char' || textBytes !== undefined) return bytes
    if (defaultFill !== undefined && !this.#warned.has(variable)) {
      const elements: { includes(value: unknown): boolean } = fromBytes(type, bytes)
      if (elements.includes(defaultFill)) {
        this.#warned.add(variable)
        const text = `'${exported.name}': some values are ${defaultFill}, which programs of NetCDF read as missing without a _FillValue; give one in the encoding`
        this.#warnings.push(text)
      }
    }
    toBigEndian(bytes, elementBytes as 1 | 2 | 4 | 8)
    return bytes
  }
}
