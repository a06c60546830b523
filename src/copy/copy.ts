import { invalidArgument } from '../core/errors.ts'
import type { Location } from '../tree/location.ts'
import { foreignWriteOption, type WrittenFormat } from '../tree/written-formats.ts'
import type { ContainerTargetOptions } from './container-target.ts'
import { withCoordinateChunks } from './coordinate-chunks.ts'
import type { ImportOptions, ImportResult, ImportSource } from './import-arrays.ts'
import type { NetcdfOptions } from './netcdf-target.ts'
import type { Scratch } from './scratch.ts'
import type { ZarrExport } from './stored-arrays.ts'
import type { SharedTarget } from './target.ts'
import type { ExportOptions } from './zarr-target.ts'

/** Options of copying arrays in this process. Formats refuse those of others. */
export interface CopyHereOptions
  extends Omit<ImportOptions, 'variables'>,
    Pick<ExportOptions, 'shards' | 'levels' | 'maxBytes' | 'resume' | 'sources' | 'command'>,
    Pick<NetcdfOptions, 'kind' | 'unlimited'> {}

/** Options of a target that is written by tasks. */
export interface TargetSettings extends ContainerTargetOptions, Pick<ExportOptions, 'shards' | 'levels'> {}

/** Arrays and attributes to be copied. */
export interface CopiedContent extends ZarrExport {
  /** Warnings about reading them, one line each. */
  readonly warnings?: readonly string[]
}

/** Opens content for a container, after the target was checked. */
export type OpenImport = () => Promise<ImportSource>

/** Result of copying arrays. */
export interface CopyOutcome extends Omit<ImportResult, 'bytes'> {
  /** Size of a file in bytes; undefined for Zarr, which has many objects. */
  readonly bytes?: number
  /** Whether all data were already written; see `resume`. */
  readonly unchanged?: boolean
}

/** Writer of a format: by tasks of several processes, or in this process. */
interface CopyWriter {
  /** Optional: formats that one process writes omit it. */
  openTarget?(
    location: Location,
    content: ZarrExport,
    settings: TargetSettings,
    id: string,
    scratch?: Scratch,
  ): Promise<SharedTarget>
  copy(call: string, content: CopiedContent, location: Location, options: CopyHereOptions): Promise<CopyOutcome>
}

/** Writers by the names of their formats. A new format that is written has a target and a line here. */
const WRITERS: Readonly<Record<string, CopyWriter>> = {
  container: {
    openTarget: async (...given) => (await import('./container-target.ts')).ContainerTarget.open(...given),
    copy: async (call, { warnings = [], ...content }, location, options) => {
      const { toImport } = await import('./import-arrays.ts')
      const source = { ...toImport(content), warnings, async [Symbol.asyncDispose]() {} }
      return copyToContainer(call, async () => source, location, options)
    },
  },
  netcdf: {
    copy: async (_, content, location, options) => (await import('./netcdf-target.ts')).writeNetcdf(content, location, options),
  },
  zarr: {
    openTarget: async (...[location, content, settings, id]) =>
      (await import('./zarr-target.ts')).ZarrTarget.open(location, content, settings, id),
    copy: async (_, { warnings = [], ...content }, location, options) => {
      const { exportZarr } = await import('./export-zarr.ts')
      const isWritten = await exportZarr(content, location, options)
      return { arrays: content.arrays.map(({ name }) => name), warnings, ...(!isWritten && { unchanged: true }) }
    },
  },
}

/**
 * Copies arrays to a place of a format, in this process. The place opens when all of it is written.
 * @param call name of the called function in messages
 * @throws InvalidArgumentError for options of other formats, and for a source that is the target;
 *   AlreadyExistsError unless `overwrite` is set; ReadOnlyError; errors of reading the arrays
 */
export async function copy(
  call: string,
  content: CopiedContent,
  location: Location,
  { format, ...options }: CopyHereOptions & { readonly format: WrittenFormat },
): Promise<CopyOutcome> {
  const foreign = foreignWriteOption(format, options)
  if (foreign !== undefined) invalidArgument(`${call}: ${foreign.text}`, options[foreign.name as keyof typeof options])
  return WRITERS[format.name]!.copy(call, withCoordinateChunks(content), location, options)
}

/** Copies what only containers hold, such as attributes with types and stored blocks, into a container. */
export async function copyToContainer(
  call: string,
  open: OpenImport,
  location: Location,
  options: CopyHereOptions,
): Promise<ImportResult> {
  const { writeContainer } = await import('./draft-target.ts')
  return writeContainer(call, open, location, options)
}

/**
 * Opens a place that tasks copy to.
 * @param id id of the write, which all its processes share
 * @param scratch folder that they share. Optional: a target that is only planned needs none
 */
export const openFormatTarget = (
  format: WrittenFormat,
  location: Location,
  content: ZarrExport,
  settings: TargetSettings,
  id = '',
  scratch?: Scratch,
): Promise<SharedTarget> => WRITERS[format.name]!.openTarget!(location, withCoordinateChunks(content), settings, id, scratch)
