import { spawn } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { type Command, Option } from 'commander'
import { openDataset } from '../dataset/open/open-dataset.ts'
import { FOLDER } from '../tree/formats.ts'
import { findTree } from '../tree/open-tree.ts'
import { resolveTarget } from '../tree/target.ts'
import { interruptible } from './failure.ts'
import { listening } from './http-answers.ts'
import { integerBetween, type NotFoundOption, notFoundAt, PLACE } from './options.ts'
import { printError, printLines } from './output.ts'
import { referencesAsZarr } from './view-references.ts'
import { createViewServer, pageFiles, viewerAddress } from './view-server.ts'

interface ViewOptions extends NotFoundOption {
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
  const place = await resolveTarget(location, { followLinks, ...notFoundAt(location, options) })
  try {
    const found = await findTree(place)
    await found.settleFormat()
    const { format } = found
    const served = format.isReference ? { ...(await referencesAsZarr(place)), format: FOLDER } : { ...place, format }
    // Errors are reported here instead of in the page, which reads through the same store.
    await (await openDataset(place)).close()
    await interruptible(async (signal) => {
      const files = pageFiles(new URL('./', import.meta.url))
      const server = createViewServer(files, served, { host: HOST, onFailure: printError })
      await listening(server, port, HOST)
      const address = `http://${HOST}:${(server.address() as AddressInfo).port}${viewerAddress(served.path)}`
      await printLines([address])
      if (open) openBrowser(address)
      // Stopping the server counts as success.
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      server.closeAllConnections()
      server.close()
    })
  } finally {
    await place.store.close?.()
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
