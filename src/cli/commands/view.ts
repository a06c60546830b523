import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import { type Command, Option } from 'commander'
import { openDataset } from '../../runtime/dataset.ts'
import { findTree, type ServedFiles } from '../../runtime/tree.ts'
import { interruptible } from '../show/failure.ts'

import { printError, printResult } from '../show/text.ts'
import { integerBetween, type NotFoundOption, namesOption, notFoundAt, PLACE, pyramidLevelOption } from './options.ts'

import { type Answer, createReadServer, listening, rangeAnswer, type ServerOptions, textAnswer } from './server.ts'

/** Files of the page and of the modules that it imports, as laid out by the build. */
interface PageFiles {
  readonly folder: URL
  /** Paths relative to the folder. */
  readonly names: readonly string[]
}

/** Modules of the package that the page imports by name. */
const ENTRIES = ['index.js', 'dataset.js', 'zarr.js']

/** Lists the files of the page. Other files of the package are not served. */
function pageFiles(folder: URL): PageFiles {
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

/** Folder of the place on the server. */
const DATA = '/data/'

/** Bytes of a file held at a time. */
const PART_BYTES = 4 * 2 ** 20

/**
 * Serves the page at /viewer/, and one place with its files below /data/.
 * @param address of the page for the place
 */
function createViewServer(
  { folder, names }: PageFiles,
  files: ServedFiles,
  address: string,
  options: Omit<ServerOptions, 'cors'>,
): Server {
  const known = new Set(names)
  const { store } = files
  const guarded = (answer: Answer): Answer => ({ ...answer, headers: { ...GUARDS, ...answer.headers } })
  return createReadServer(
    async ({ path: asked, range, signal }) => {
      if (asked === '/') return { status: 302, headers: { location: address } }
      const name = asked.slice(1).replace(/^viewer\/$/, 'viewer/index.html')
      if (known.has(name)) {
        const type = TYPES[extname(name)] ?? 'application/octet-stream'
        const bytes = readFileSync(new URL(name, folder))
        return guarded(
          rangeAnswer(range, bytes.length, { 'content-type': type }, (start, stop) => ({ body: bytes.subarray(start, stop) })),
        )
      }
      const key = asked.startsWith(DATA) ? await files.keyOf(asked.slice(DATA.length)) : undefined
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

/** Returns the address of the page for a place, relative to the root of the server. */
function viewerAddress(name: string, { names, pyramidLevel }: Pick<ViewOptions, 'names' | 'pyramidLevel'>): string {
  const query = new URLSearchParams({ url: `/data/${encodeURIComponent(name)}` })
  if (names !== undefined) query.set('names', names.join())
  if (pyramidLevel !== undefined) query.set('level', String(pyramidLevel))
  return `/viewer/?${query}`
}

interface ViewOptions extends NotFoundOption {
  readonly names?: readonly string[]
  readonly pyramidLevel?: number
  readonly port: number
  readonly open: boolean
  readonly followLinks?: boolean
}

/** Address of this machine alone, because the content is private to the user. */
const HOST = '127.0.0.1'

export function addView(program: Command): void {
  program
    .command('view')
    .description('look at arrays in a browser: maps, series, means; on this machine only')
    .argument('<file>', PLACE)
    .addOption(
      new Option('-p, --port <number>', 'where to listen; 0 for any that is free').argParser(integerBetween(0, 65535)).default(0),
    )
    .addOption(namesOption())
    .addOption(pyramidLevelOption())
    .option('--no-open', 'print the address, and open no browser')
    .option('--follow-links', 'also show targets of symbolic links outside of the place')
    .addHelpText(
      'after',
      `
Example: a file of this machine
  $ hyperslab view climate.af

Example: an object of S3, which the browser itself could not read
  $ hyperslab view s3://bucket/climate.zarr`,
    )
    .action((path: string, options: ViewOptions) => view(path, options))
}

async function view(location: string, { port, open, followLinks, ...options }: ViewOptions): Promise<void> {
  const at = notFoundAt(location, options)
  const found = await findTree(location, { ...at, confined: followLinks ? 'names' : 'links' })
  try {
    await found.settleFormat()
    const served = await found.files()
    const { names, pyramidLevel: level } = options
    // Errors are reported here instead of in the page, which reads through the same store.
    const checked = { names, ...(level !== undefined && { level }) }
    await (await openDataset(found.place, checked)).close()
    await interruptible(async (signal) => {
      const files = pageFiles(new URL('./', import.meta.url))
      const page = viewerAddress(served.name, options)
      const server = createViewServer(files, served, page, { host: HOST, onFailure: printError })
      await listening(server, port, HOST)
      const address = `http://${HOST}:${(server.address() as AddressInfo).port}${page}`
      await printResult({ url: address }, [address])
      if (open) openBrowser(address)
      // Stopping the server counts as success.
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      server.closeAllConnections()
      server.close()
    })
  } finally {
    await found.close()
  }
}

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  // `start` would treat a quoted first argument as a title, and `&` as the end of the command.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens an address through the system. Failures are only reported, because the address is printed anyway. */
function openBrowser(address: string): void {
  const [program, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(program!, [...args, address], { stdio: 'ignore', detached: true })
  child.once('error', ({ message }) => printError(`no browser could be opened (${message}): open the address yourself`))
  child.unref()
}
