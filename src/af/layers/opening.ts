import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import type { Store, UnprovedAbsence } from '../../store/store.ts'
import type { Limits } from '../format/limits.ts'
import { Layer, type LayerOptions } from './layer.ts'
import type { Paths } from './paths.ts'

/** Layers opened at a time. */
export const OPENINGS = 8

/** What layers are opened with. */
export interface Opening extends LayerOptions {
  readonly room: { bytes: number }
  /** Number of the last layer wanted. */
  readonly last: number
  readonly limits: Required<Limits>
}

/** A file of the container's folder that is named like a sidecar. */
export interface NamedFile {
  readonly number: number
  readonly file: string
}

/** Files of a container, as they were opened. */
export interface OpenedFiles {
  /** The base, then the sidecars by number. */
  readonly layers: readonly Layer[]
  /** Files beside a base of footer version 6 that are named like sidecars. They are not read. */
  readonly unread?: readonly NamedFile[]
}

/** Bytes that the footers of some files have together. */
export const footerBytesOf = (layers: readonly Layer[]): number => layers.reduce((sum, { footerBytes }) => sum + footerBytes, 0)

/**
 * Opens the base.
 * @throws NotFoundError when there is none; FormatError when it is a sidecar
 */
export async function openBase(store: Store, paths: Paths, options: Opening): Promise<Layer> {
  const { bytes } = options.room
  const open = () => Layer.open(store, paths.base, 0, options.limits, options)
  const base = await open().catch((error: unknown) => {
    if (!isHyperslabError(error, 'ConflictError')) throw error
    // Another base took its place while it was read, and is as good as one that was there all the time.
    options.room.bytes = bytes
    return open()
  })
  if (base !== undefined) {
    const { overlayIndex, baseFileHint } = base.footer
    if (overlayIndex === 0) return base
    // As a container it would hold what changed in it, and fill values for the rest.
    const text = `this is sidecar ${overlayIndex} of '${baseFileHint}': open that`
    throw new HyperslabError('FormatError', text, { file: base.file })
  }
  throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(paths.base) })
}

/** The first sidecar, as it was asked for together with the base. */
export interface FirstSidecar {
  readonly layer: Promise<Layer | undefined>
  /** Absences that the server does not prove. */
  readonly unproved: readonly UnprovedAbsence[]
}

/** Asks for the first sidecar. What it finds counts only if the base takes sidecars. */
export function firstSidecar(store: Store, paths: Paths, options: Opening): FirstSidecar | undefined {
  if (options.last === 0) return undefined
  const unproved: UnprovedAbsence[] = []
  const room = { ...options.room }
  const asking = { ...options, room, onUnproved: (absence: UnprovedAbsence) => void unproved.push(absence) }
  const layer = Layer.open(store, paths.sidecar(1), 1, options.limits, asking)
  layer.catch(() => undefined)
  return { layer, unproved }
}
