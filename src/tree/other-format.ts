import { HyperslabError } from '../core/errors.ts'
import type { StoredAt } from '../store/store.ts'
import { FOLDER, isZarrFolder, recognise } from './formats.ts'

/**
 * Returns the error of opening a container. If the place is of another format, it names the calls that open
 * it.
 */
export async function reasonOfContainer({ store, path }: StoredAt, error: HyperslabError): Promise<HyperslabError> {
  try {
    let { format } = await recognise({ store, path })
    if (format.isNamed || format.isFolder) {
      // Elsewhere than on this machine, the name alone may have told the format of what is no file.
      const isFile = format.isNamed && (await store.stat(path).catch(() => undefined)) !== undefined
      if (isFile || !(await isZarrFolder({ store, path }))) return error
      format = FOLDER
    }
    const text = `${error.text}; this is ${format.noun}: openDataset opens it, or openTree for its arrays as they are stored`
    return new HyperslabError(error.tag, text, { ...error.details, cause: error })
  } catch {
    // The place cannot be read, or its format is not known: the first error says more.
    return error
  }
}
