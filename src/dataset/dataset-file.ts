import type { HyperslabError } from '../core/errors.ts'
import type { Checks } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import type { Attrs } from './attributes.ts'
import type { RawVariable } from './cf/decode.ts'

/** The arrays of a file, for {@link Dataset.from}. */
export interface DatasetFile {
  /** The arrays, as the format has them. */
  readonly variables: readonly RawVariable[]
  /** The attributes of the file. */
  readonly attrs?: Attrs
  /** The place it is at, for code that opens it elsewhere. */
  readonly opened?: { readonly format: string; readonly path: string; readonly group?: string | undefined }
  /** The names of arrays that could not be opened, each with the reason. */
  readonly unreadable?: ReadonlyMap<string, HyperslabError>
  /** Warnings about reading the file, one per line. */
  readonly warnings?: readonly string[]
  /** Gives back its handles. */
  close?(): Promise<void>
}

/** Options of decoding what a file holds. */
export interface DecodeOptions {
  /** False leaves values as they are stored: neither missing nor scaled nor times. */
  readonly decode?: boolean
  /** Ends reading when it is aborted. */
  readonly signal?: Signal | undefined
  /** Bounds of what is kept. */
  readonly limits?: DatasetLimits
}

/** Bounds of what an open dataset keeps. */
export interface DatasetLimits {
  /**
   * Bytes of the coordinates that are read once and kept: labels of dimensions, and latitudes and longitudes
   * of two dimensions that places were looked for in; 256 MiB by default. What goes beyond is refused before
   * it is read.
   */
  readonly coordinateBytes?: number
}

export const DECODE_CHECKS: Checks<DecodeOptions> = { decode: 'boolean', signal: 'AbortSignal', limits: 'object' }
