import type { LocalFiles } from '../../src/store/store.ts'

/** Returns the files of a place without folders and links, which distinguishes all names. */
export const localFiles = (members: Partial<LocalFiles>): LocalFiles => ({
  windowsNames: false,
  recycle: () => undefined,
  makeFolder: async () => undefined,
  removeFolder: async () => undefined,
  leftovers: async () => [],
  foldedNames: async () => ({ case: false, unicode: false }),
  realPath: async (key) => key,
  isLink: async () => false,
  ...members,
})
