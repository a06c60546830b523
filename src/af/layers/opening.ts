import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { newController, onAbort } from '../../core/signal.ts'
import type { ObjectInfo, Store, UnprovedAbsence } from '../../store/store.ts'
import type { Limits } from '../format/limits.ts'
import { Layer, type LayerOptions } from './layer.ts'
import type { Paths } from './paths.ts'

/** Number of layers opened at once. */
export const OPENINGS = 8

/** Options for opening layers. */
export interface Opening extends LayerOptions {
  readonly room: { bytes: number }
  /** Number of the last layer to open. */
  readonly last: number
  readonly limits: Required<Limits>
}

/** A file of the container's folder that is named like a sidecar. */
export interface NamedFile {
  readonly number: number
  readonly file: string
  /** Version of the file; undefined if it was not read. */
  readonly info?: ObjectInfo
}

/** Opened files of a container. */
export interface OpenedFiles {
  /** The base, then the sidecars by number. */
  readonly layers: readonly Layer[]
  /** Files that are named like sidecars but are not, because they or the base have footer version 6. */
  readonly beside?: readonly NamedFile[]
}

/** Returns the total bytes of the footers of some files. */
export const sumFooterBytes = (layers: readonly Layer[]): number => layers.reduce((sum, { footerBytes }) => sum + footerBytes, 0)

/**
 * Opens the base.
 * @throws NotFoundError if it does not exist; FormatError if it is a sidecar
 */
export async function openBase(store: Store, paths: Paths, options: Opening): Promise<Layer> {
  const { bytes } = options.room
  const open = () => Layer.open(store, paths.base, 0, options.limits, options)
  const base = await open().catch((error: unknown) => {
    if (!isHyperslabError(error, 'ConflictError')) throw error
    // Another base replaced it during the read. The new base is as good as one that was there from the start.
    options.room.bytes = bytes
    return open()
  })
  if (base !== undefined) {
    const { overlayIndex, baseFileHint } = base.footer
    if (overlayIndex === 0) return base
    // Opened as a container, a sidecar would show its changes over fill values.
    const text = `this is sidecar ${overlayIndex} of '${baseFileHint}': open that`
    throw new HyperslabError('FormatError', text, { file: base.file })
  }
  throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(paths.base) })
}

/** The first sidecar, requested together with the base. */
export interface FirstSidecar {
  readonly layer: Promise<Layer | undefined>
  /** Absences that the server did not prove. */
  readonly unproved: readonly UnprovedAbsence[]
  /** Gives up the request, because its result is not needed. */
  cancel(): void
}

/** Requests the first sidecar. The result counts only if the base takes sidecars. */
export function firstSidecar(store: Store, paths: Paths, options: Opening): FirstSidecar | undefined {
  if (options.last === 0) return undefined
  const unproved: UnprovedAbsence[] = []
  const room = { ...options.room }
  const controller = newController()
  const { signal } = options
  const forget = signal && onAbort(signal, () => controller.abort(signal.reason))
  if (signal?.aborted) controller.abort(signal.reason)
  const asking = {
    ...options,
    signal: controller.signal,
    room,
    onUnproved: (absence: UnprovedAbsence) => void unproved.push(absence),
  }
  const layer = Layer.open(store, paths.sidecar(1), 1, options.limits, asking)
  layer.catch(() => undefined).finally(forget)
  return { layer, unproved, cancel: () => controller.abort() }
}
