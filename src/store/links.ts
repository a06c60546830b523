import { HyperslabError } from '../core/errors.ts'
import type { Store } from './store.ts'

/** Folders, each with whether it is a symbolic link. */
export type TestedFolders = Map<string, Promise<boolean>>

/**
 * Checks that no folder between a root and a key is a symbolic link. Objects behind such a link belong to
 * another place, so they are not deleted. The root itself may be a link, and so may the object.
 * @param root key of a folder, without a trailing slash unless it is `/`; '' for the root of the store
 * @param key of an object, or of a folder with a trailing slash, below the root
 * @param tested folders that the same operation has tested. The check tests each folder once, and adds it
 * @throws UnsupportedError, which names the first link
 */
export async function checkUnlinked(
  store: Pick<Store, 'files' | 'describe'>,
  root: string,
  key: string,
  tested: TestedFolders = new Map(),
): Promise<void> {
  if (store.files === undefined) return
  const start = root === '' || root.endsWith('/') ? root.length : root.length + 1
  for (let end = key.indexOf('/', start); end !== -1; end = key.indexOf('/', end + 1)) {
    const folder = key.slice(0, end)
    const isLink = tested.get(folder) ?? store.files.isLink(folder)
    tested.set(folder, isLink)
    if (!(await isLink)) continue
    const link = store.describe(folder)
    const text = `'${link}' is a symbolic link, and nothing behind a link is deleted or replaced: remove the link itself, or name the place that it leads to`
    throw new HyperslabError('UnsupportedError', text, { file: store.describe(root), actual: link })
  }
}
