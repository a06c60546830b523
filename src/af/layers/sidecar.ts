import { HyperslabError } from '../../core/errors.ts'
import { type ObjectInfo, type ReadOptions, readTail, type Store } from '../../store/store.ts'
import { isVersion6, ROOT_BYTES_6 } from '../format/footer.ts'
import { FOOTER_MAGIC, payloadBytes, TRAILER_BYTES } from '../format/footer-trailer.ts'
import { Layer } from './layer.ts'
import type { NamedFile, Opening } from './opening.ts'
import type { Paths } from './paths.ts'

/** A file that is named like a sidecar: a layer, or a file of footer version 6. */
export type Sidecar = { readonly layer: Layer } | { readonly beside: NamedFile }

/**
 * Opens a file that is named like a sidecar. One of footer version 6 is no layer, so its footer does not
 * count towards that of the container.
 * @param open opens the layer. Default: `Layer.open`
 * @returns undefined if it does not exist
 * @throws FormatError for a base
 */
export async function openSidecar(
  store: Store,
  paths: Paths,
  number: number,
  options: Opening,
  open = (each: Opening) => Layer.open(store, paths.sidecar(number), number, options.limits, each),
): Promise<Sidecar | undefined> {
  let info: ObjectInfo | undefined
  const onSealed = (found: ObjectInfo): void => {
    info = found
  }
  try {
    const layer = await open({ ...options, onSealed })
    return layer && asSidecar(layer, options)
  } catch (error) {
    if (info === undefined) throw error
    return { beside: { number, file: store.describe(paths.sidecar(number)), info } }
  }
}

/** Returns a file that was opened, and the bytes of its footer if it is no layer. */
function asSidecar(layer: Layer, { room }: Pick<Opening, 'room'>): Sidecar {
  if (!layer.immutable) {
    if (layer.footer.overlayIndex === 0) throw misplacedBase(layer)
    return { layer }
  }
  room.bytes += layer.footerBytes
  const { number, file, info } = layer
  return { beside: { number, file, info } }
}

/** Returns the error for a file with the name of a layer that is a container of its own by its footer. */
export function misplacedBase({ file, number }: Pick<Layer, 'file' | 'number'>): HyperslabError {
  const text = `the file is layer ${number} by its name, but layer 0, a container of its own, by its footer: move it elsewhere`
  return new HyperslabError('FormatError', text, { file, actual: 0, expected: number })
}

/**
 * Returns a file of footer version 6 that is named like a sidecar. Reads only its end.
 * @returns undefined for any other file
 */
export async function besideAt(store: Store, paths: Paths, number: number, options: ReadOptions): Promise<NamedFile | undefined> {
  const key = paths.sidecar(number)
  const tail = await readTail(store, key, TRAILER_BYTES + ROOT_BYTES_6, options)
  if (tail === undefined) return undefined
  const { bytes, size, etag } = tail
  const end = Math.max(0, bytes.length - TRAILER_BYTES)
  const isSealed = payloadBytes(bytes.subarray(end), FOOTER_MAGIC, size) !== undefined && isVersion6(bytes.subarray(0, end))
  return isSealed ? { number, file: store.describe(key), info: { size, etag } } : undefined
}
