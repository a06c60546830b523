import { endsInMagic, REPLACING_MAGIC, TRAILER_BYTES } from '../../af/format/footer-trailer.ts'
import { DEFAULT_LIMITS } from '../../af/format/limits.ts'
import { Layer } from '../../af/layers/layer.ts'
import { listSidecars } from '../../af/layers/listed.ts'
import { Paths } from '../../af/layers/paths.ts'
import { noContainer } from '../../af/write/create.ts'
import { checkStats, foreignFile, isContainerEnd } from '../../af/write/occupied.ts'
import { isHyperslabError } from '../../core/errors.ts'
import { METADATA_BYTES, parseJson } from '../../core/json.ts'
import { forEachLimited } from '../../core/limiter.ts'
import type { StoredAt } from '../../store/store.ts'
import { type ObjectTail, readTail, type Store } from '../../store/store.ts'
import { readWhole } from '../../store/whole.ts'
import type { Target } from './target.ts'

const BASE = 'af'
/** Number of sidecars that are checked concurrently. */
const AT_ONCE = 8

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
    claim: async (command, draft) => new TextEncoder().encode(`${JSON.stringify({ command, draft })}${REPLACING_MAGIC}`),
    claimNow: async (signal) => {
      if (!endsIn(await readTail(store, path, TRAILER_BYTES, { signal }), REPLACING_MAGIC)) return undefined
      const found = await readWhole(store, path, { maxBytes: METADATA_BYTES, signal })
      const text = found && new TextDecoder().decode(found.bytes.subarray(0, -REPLACING_MAGIC.length))
      const claim = text === undefined ? undefined : parseJson(text, 'the claim')
      return { draft: String((claim as { draft?: unknown } | null | undefined)?.draft) }
    },
    isMetadata: (name) => name === BASE,
    isRoot: (name) => name === BASE,
    membership: ({ names = [] }) => {
      const known = new Set(names)
      return (name) => known.has(name)
    },
    survey: async (signal) => {
      const end = await readTail(store, path, TRAILER_BYTES, { signal })
      const roots = new Map(end === undefined ? [] : [[BASE, end.etag]])
      if (endsIn(end, REPLACING_MAGIC)) return { state: 'replacing', roots, names: [], members: { arrays: [] } }
      if (end !== undefined && end.size > 0 && !isContainerEnd(end)) throw noContainer(store.describe(path))
      const numbers = await listSidecars(store, paths, signal)
      await forEachLimited(numbers, AT_ONCE, (number) => checkSidecar(store, paths, number))
      const sidecars = numbers.map((number) => paths.sidecar(number))
      const isMeasured = await checkStats(store, paths)
      const names = [...(end === undefined ? [] : [path]), ...sidecars, ...(isMeasured ? [paths.stats] : [])].map((key) =>
        key.slice(prefix.length),
      )
      return {
        state: names.length === 0 ? 'empty' : end === undefined ? 'unfinished' : 'complete',
        roots,
        names,
        members: { arrays: [], names },
      }
    },
  }
}

const endsIn = (end: ObjectTail | undefined, magic: string): boolean => end !== undefined && endsInMagic(end.bytes, magic)

/**
 * Checks that a file with the name of a sidecar is a sidecar.
 * @throws AlreadyExistsError for a file of its own
 */
async function checkSidecar(store: Store, paths: Paths, number: number): Promise<void> {
  const key = paths.sidecar(number)
  try {
    const layer = await Layer.open(store, key, number, DEFAULT_LIMITS)
    if (layer === undefined || layer.footer.overlayIndex === number) return
  } catch (error) {
    if (!isHyperslabError(error, 'FormatError', 'IntegrityError', 'UnsupportedError')) throw error
  }
  throw foreignFile(store.describe(key), 'it is no sidecar of this container')
}
