import { METADATA } from '../adapters/zarr/metadata-names.ts'
import { HyperslabError } from '../core/errors.ts'
import type { StoredAt } from '../store/store.ts'
import { recognise } from './formats.ts'

/**
 * Returns the error of opening a container. If the place is of another format, it names the calls that open
 * it.
 */
export async function reasonOfContainer({ store, path }: StoredAt, error: HyperslabError): Promise<HyperslabError> {
  try {
    const { format } = await recognise({ store, path })
    if (format.isNamed || (format.isFolder && !(await holdsZarr({ store, path })))) return error
    const text = `${error.text}; this is ${format.noun}: openDataset opens it, or openTree for its arrays as they are stored`
    return new HyperslabError(error.tag, text, { ...error.details, cause: error })
  } catch {
    // The place cannot be read, or its format is not known: the first error says more.
    return error
  }
}

/** Whether a place, which may be any folder, has metadata of Zarr. */
async function holdsZarr({ store, path }: StoredAt): Promise<boolean> {
  for (const name of METADATA)
    if ((await store.stat(path === '' ? name : `${path.replace(/\/$/, '')}/${name}`).catch(() => undefined)) !== undefined)
      return true
  return false
}
