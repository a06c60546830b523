import type { DirectoryHandleLike, FileHandleLike } from '../../src/store/handles.ts'

/** Dates of files are multiples of this, as on systems that take the time of the last tick. */
const TICK_MS = 10

type Part = ConstructorParameters<typeof File>[0][number]

const missing = () => Object.assign(new Error('there is none'), { name: 'NotFoundError' })

/**
 * One folder of files in memory with what no browser at hand shows: dates so coarse that quick writers meet
 * in one, and, unless `movable`, handles that cannot be moved.
 */
export function coarseFiles({ movable }: { movable: boolean }): DirectoryHandleLike {
  const files = new Map<string, File>()
  const store = (name: string, parts: Part[]) =>
    files.set(name, new File(parts, name, { lastModified: Math.floor(Date.now() / TICK_MS) * TICK_MS }))
  const handleOf = (name: string): FileHandleLike => ({
    kind: 'file',
    name,
    async getFile() {
      const file = files.get(name)
      if (file === undefined) throw missing()
      return file
    },
    async createWritable() {
      const parts: Part[] = []
      return {
        write: async (part) => void parts.push(part as Part),
        close: async () => void store(name, parts),
        abort: async () => {},
      }
    },
    ...(movable && {
      async move(_: DirectoryHandleLike, to: string) {
        files.set(to, files.get(name)!)
        files.delete(name)
      },
    }),
  })
  return {
    kind: 'directory',
    name: 'coarse',
    async getFileHandle(name, { create = false } = {}) {
      if (!files.has(name) && !create) throw missing()
      if (!files.has(name)) store(name, [])
      return handleOf(name)
    },
    getDirectoryHandle: () => Promise.reject(missing()),
    async removeEntry(name) {
      if (!files.delete(name)) throw missing()
    },
    async *values() {
      for (const name of [...files.keys()]) yield { kind: 'file', name }
    },
  }
}
