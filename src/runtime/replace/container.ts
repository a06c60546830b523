import { REPLACING_MAGIC, TRAILER_BYTES } from '../../af/format/footer-trailer.ts'
import { listSidecars } from '../../af/layers/listed.ts'
import { Paths } from '../../af/layers/paths.ts'
import { readTail } from '../../store/store.ts'
import type { StoredAt } from '../place-format.ts'
import type { Target } from './target.ts'

const BASE = 'af'
const BESIDE = /^([1-9]\d*\.af|stats)$/

/** Returns a container, with its sidecars and statistics, as a replaceable target. */
export function containerTarget({ store, path }: StoredAt): Target {
  const paths = new Paths(path)
  const prefix = path.slice(0, -BASE.length)
  return {
    store,
    prefix,
    workspace: `${prefix}hyperslab-next/`,
    place: path,
    claimed: BASE,
    claim: (command) => new TextEncoder().encode(`${JSON.stringify({ command })}${REPLACING_MAGIC}`),
    isMetadata: (name) => name === BASE,
    isRoot: (name) => name === BASE,
    membership: () => (name) => BESIDE.test(name),
    survey: async (signal) => {
      const members = { arrays: [] }
      const end = await readTail(store, path, TRAILER_BYTES, { signal })
      const roots = new Map(end === undefined ? [] : [[BASE, end.etag]])
      if (end !== undefined && new TextDecoder('latin1').decode(end.bytes).endsWith(REPLACING_MAGIC))
        return { state: 'replacing', roots, names: [], members }
      const sidecars = (await listSidecars(store, paths, signal)).map((number) => paths.sidecar(number))
      const isMeasured = (await store.stat(paths.stats, { signal })) !== undefined
      const names = [...(end === undefined ? [] : [path]), ...sidecars, ...(isMeasured ? [paths.stats] : [])].map((key) =>
        key.slice(prefix.length),
      )
      return { state: names.length === 0 ? 'empty' : end === undefined ? 'unfinished' : 'complete', roots, names, members }
    },
  }
}
