import { readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { extname } from 'node:path'
import { METADATA_PATH } from '../adapters/zarr/metadata-names.ts'
import { Paths, SIDECAR } from '../af/layers/paths.ts'
import { withoutEndings } from '../core/text.ts'
import { encodeNames } from '../core/url-names.ts'
import type { StoredAt } from '../store/store.ts'
import type { Format } from '../tree/formats.ts'
import { type Answer, createReadServer, rangeAnswer, type ServerOptions, textAnswer } from './http-answers.ts'

/** Files of the page and of the modules that it imports, as laid out by the build. */
export interface PageFiles {
  readonly folder: URL
  /** Paths relative to the folder. */
  readonly names: readonly string[]
}

/** Modules of the package that the page imports by name. */
const ENTRIES = ['index.js', 'dataset.js', 'zarr.js']

/** Lists the files of the page. Other files of the package are not served. */
export function pageFiles(folder: URL): PageFiles {
  const below = (name: string): string[] =>
    readdirSync(new URL(name, folder), { recursive: true, encoding: 'utf8' })
      .map((file) => name + file.replaceAll('\\', '/'))
      .filter((file) => extname(file) !== '')
  const names = [...below('viewer/'), ...below('chunks/').filter((name) => name.endsWith('.js')), ...ENTRIES]
  return { folder, names }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/**
 * Headers that keep other pages from reading or embedding the content, and the page from running foreign
 * code.
 */
const GUARDS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; worker-src 'self' blob:; connect-src *; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

/** Bytes of a file held at a time. */
const PART_BYTES = 4 * 2 ** 20

/** Serves the page at /viewer/, and one place with its files below /data/. */
export function createViewServer(
  { folder, names }: PageFiles,
  { store, path, format }: StoredAt & { readonly format: Format },
  options: Omit<ServerOptions, 'cors'>,
): Server {
  const known = new Set(names)
  const root = withoutEndings(path, '/')
  const own = nameOf(root)
  const guarded = (answer: Answer): Answer => ({ ...answer, headers: { ...GUARDS, ...answer.headers } })
  return createReadServer(
    async ({ path: asked, range, signal }) => {
      if (asked === '/') return { status: 302, headers: { location: viewerAddress(path) } }
      const name = asked.slice(1).replace(/^viewer\/$/, 'viewer/index.html')
      if (known.has(name)) {
        const type = TYPES[extname(name)] ?? 'application/octet-stream'
        const bytes = readFileSync(new URL(name, folder))
        return guarded(
          rangeAnswer(range, bytes.length, { 'content-type': type }, (start, stop) => ({ body: bytes.subarray(start, stop) })),
        )
      }
      const key = keyOf(asked, { root, own, format, urlNames: store.urlNames })
      const info = key === undefined ? undefined : await store.stat(key, { signal })
      if (key === undefined || info === undefined) return guarded(textAnswer(404, 'there is no such file'))
      const headers = { 'content-type': 'application/octet-stream', etag: `"${info.etag.replace(/[^\x21\x23-\x7e]/g, '')}"` }
      async function* read(start: number, stop: number): AsyncGenerator<Uint8Array> {
        for (let at = start; at < stop; at += PART_BYTES) {
          const length = Math.min(PART_BYTES, stop - at)
          const bytes = await store.getRange(key!, at, length, { ifMatch: info!.etag, signal })
          if (bytes === undefined) throw new Error(`${store.describe(key!)} is gone`)
          yield bytes
        }
      }
      return guarded(
        rangeAnswer(range, info.size, headers, (start, stop) => ({ parts: { size: stop - start, bytes: read(start, stop) } })),
      )
    },
    { ...options, cors: undefined },
  )
}

const nameOf = (root: string): string => root.slice(root.lastIndexOf('/') + 1) || 'data'

/** Returns the address of the page for the place, relative to the root of the server. */
export const viewerAddress = (path: string): string =>
  `/viewer/?${new URLSearchParams({ url: `/data/${encodeURIComponent(nameOf(withoutEndings(path, '/')))}` })}`

/** Returns the key of a requested path; undefined for paths outside of the place. */
function keyOf(
  asked: string,
  {
    root,
    own,
    format,
    urlNames,
  }: {
    readonly root: string
    readonly own: string
    readonly format: Format
    readonly urlNames: boolean | undefined
  },
): string | undefined {
  if (!asked.startsWith('/data/')) return undefined
  const name = asked.slice('/data/'.length)
  const beside = (other: string): string => root.slice(0, root.length - nameOf(root).length) + other
  if (format.isFolder) {
    // Metadata objects identify their folder.
    const folder = METADATA_PATH.test(root) ? beside('').replace(/\/$/, '') : root
    const inside = name.startsWith(`${own}/`) ? name.slice(own.length + 1) : undefined
    const isPlain = inside?.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\\'))
    if (!isPlain) return undefined
    const key = urlNames ? encodeNames(inside!) : inside!
    // An empty name is the current folder, not the root of the disk.
    return folder === '' ? key : `${folder}/${key}`
  }
  if (name === own) return root
  if (!format.isNamed) return undefined
  const paths = new Paths(root)
  const number = Number(SIDECAR.exec(name)?.[1] ?? 0)
  if (number > 0 && name === nameOf(paths.sidecar(number))) return paths.sidecar(number)
  return name === nameOf(paths.stats) ? paths.stats : undefined
}
