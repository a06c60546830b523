import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Command, Option } from 'commander'
import { type LabelledTree, plainAttrs } from '../../runtime/tree.ts'
import { asZarrStore, type ZarrStoreOfArrays } from '../../runtime/zarr.ts'
import { interruptible, oneLine, UsageError } from '../show/failure.ts'
import { printError, printResult } from '../show/text.ts'
import { addPlaceOptions, integerBetween, PLACE, type PlaceOptions } from './options.ts'
import { openPlace } from './place.ts'
import {
  type Answer,
  createReadServer,
  encodeText,
  JSON_TYPE,
  listening,
  rangeAnswer,
  type ServerOptions,
  textAnswer,
} from './server.ts'

/** Serves GET and HEAD for the objects of several stores by name, including ranges. */
const createZarrServer = (stores: ReadonlyMap<string, ZarrStoreOfArrays>, options: ServerOptions): Server =>
  createReadServer(async ({ path, range, signal }): Promise<Answer> => {
    if (path === '/') return { status: 200, headers: JSON_TYPE, body: encodeText(JSON.stringify([...stores.keys()])) }
    const [, name = '', key = ''] = /^\/([^/]*)(\/.*)?$/s.exec(path) ?? []
    const bytes = key === '' ? undefined : await stores.get(name)?.get(key as `/${string}`, { signal })
    if (bytes === undefined) return textAnswer(404, 'there is no such object')
    const type = key.endsWith('.json') ? JSON_TYPE : { 'content-type': 'application/octet-stream' }
    return rangeAnswer(range, bytes.length, type, (start, stop) => ({ body: bytes.subarray(start, stop) }))
  }, options)

interface ServeOptions extends PlaceOptions {
  readonly port: number
  readonly host: string
  readonly cors?: string | true
  readonly levels?: number
  readonly followLinks?: boolean
}

export function addServe(program: Command): void {
  const command = program
    .command('serve')
    .description('serve arrays as Zarr over HTTP, for Python, viewers and maps; each chunk is computed on request')
    .argument('<file...>', PLACE)
    .addOption(
      new Option('-p, --port <number>', 'where to listen; 0 for any that is free')
        .argParser(integerBetween(0, 65535))
        .default(8000),
    )
    .option('--host <name>', 'the address to listen at; 0.0.0.0 lets other machines read', '127.0.0.1')
    .option('--cors [origin]', 'allow web pages of this origin to read; without a value, of any origin')
    .addOption(
      new Option('--levels <number>', 'number of levels of a pyramid, each at half the resolution').argParser(
        integerBetween(1, 32),
      ),
    )
  command.option('--follow-links', 'also serve targets of links and references outside of the places')
  addPlaceOptions(command)
    .addHelpText(
      'after',
      `
Example: in Python
  $ hyperslab serve climate.af
  >>> xarray.open_zarr('http://127.0.0.1:8000/climate.zarr')

Example: for a map in a browser
  $ hyperslab serve tas.nc --cors --levels 4`,
    )
    .action(async (paths: string[], options: ServeOptions) => {
      const places: LabelledTree[] = []
      try {
        const stores = new Map<string, ZarrStoreOfArrays>()
        for (const path of paths) {
          const place = await openPlace(path, options, {}, options.followLinks !== true)
          places.push(place)
          const name = `${place.name}.zarr`
          if (stores.has(name)) throw new UsageError(`two of the files would be served as ${name}`)
          stores.set(name, await createStore(place, options))
        }
        await serveUntilInterrupted(stores, options)
      } finally {
        for (const place of places) await place[Symbol.asyncDispose]()
      }
    })
}

async function serveUntilInterrupted(
  stores: ReadonlyMap<string, ZarrStoreOfArrays>,
  { port, host, cors }: ServeOptions,
): Promise<void> {
  await interruptible(async (signal) => {
    const origins = cors === true ? '*' : cors
    const server = await listening(createZarrServer(stores, { cors: origins, host, onFailure: printError }), port, host)
    const { port: own } = server.address() as AddressInfo
    const origin = `http://${host.includes(':') ? `[${host}]` : host}:${own}`
    const urls = [...stores.keys()].map((name) => `${origin}/${encodeURIComponent(name)}`)
    await printResult({ urls }, urls)
    // Stopping the server counts as success.
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    server.closeAllConnections()
    server.close()
  })
}

async function createStore(place: LabelledTree, { levels }: ServeOptions): Promise<ZarrStoreOfArrays> {
  const { arrays, groups, leftOut } = await place.contents()
  for (const line of leftOut) printError(oneLine(`${place.location}: left out: ${line}`))
  const named = new Map([...groups].map(([path, attrs]) => [path, plainAttrs(attrs)]))
  const attributes = named.get('') ?? {}
  named.delete('')
  const store = asZarrStore(Object.fromEntries(arrays.map(({ name, array }) => [name, array])), {
    attributes,
    ...(levels === undefined ? { groups: Object.fromEntries(named) } : { levels }),
  })
  // Report at once what cannot be served.
  await store.get('/zarr.json')
  return store
}
