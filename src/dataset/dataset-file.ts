import type { Progress } from '../array/transfers.ts'
import type { HyperslabError } from '../core/errors.ts'
import type { Checks } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import type { Attrs } from './attributes.ts'
import type { RawVariable } from './cf/decode.ts'
import type { OmittedGroups } from './coords.ts'

/** Content of a file, as input of {@link Dataset.from}. */
export interface DatasetFile {
  /** Arrays in the form of the format. */
  readonly variables: readonly RawVariable[]
  /** Attributes of the file. */
  readonly attrs?: Attrs
  /** Location of the file, for generated code that opens it. */
  readonly opened?: { readonly format: string; readonly path: string; readonly group?: string | undefined }
  /** Names of arrays that could not be opened, each with the reason. */
  readonly unreadable?: ReadonlyMap<string, HyperslabError>
  /** Warnings about reading the file, one per line. */
  readonly warnings?: readonly string[]
  /** Returns the groups at the root, if the variables are those of the root because no group was chosen. */
  readonly groupsLeft?: (() => Promise<OmittedGroups>) | undefined
  /** Returns the version of the file as it is stored now, as text that changes when it does. */
  version?(): Promise<string>
  /** Releases the handles of the file. */
  close?(): Promise<void>
}

/** Options of decoding a file. */
export interface DecodeOptions {
  /** Whether values are decoded: missing values, scaling and times. Default: true. */
  readonly decode?: boolean
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
  /** Receives the progress after each step. A step is a coordinate that was read. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** Limits of kept data. */
  readonly limits?: DatasetLimits
}

/** Limits of the data that an open dataset keeps. */
export interface DatasetLimits {
  /**
   * Limit for coordinates, in bytes, which are read once and kept. It covers labels of dimensions, and
   * two-dimensional latitudes and longitudes used by `selPoints`. Default: 256 MiB. A coordinate beyond the
   * limit is refused before it is read.
   */
  readonly coordinateBytes?: number
}

export const DECODE_CHECKS: Checks<DecodeOptions> = {
  decode: 'boolean',
  signal: 'AbortSignal',
  onProgress: 'function',
  limits: 'object',
}
