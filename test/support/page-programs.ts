import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatWithOptions } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, vi } from 'vitest'
import * as cluster from '../../src/runtime/cluster.ts'
import * as dataset from '../../src/runtime/dataset.ts'
import * as hyperslab from '../../src/runtime/index.ts'
import * as stores from '../../src/runtime/store.ts'
import * as zarr from '../../src/runtime/zarr.ts'
import { MemoryBucket } from './r2-bucket.ts'
import { RudeServer } from './rude-server.ts'

const MODULES = {
  hyperslab,
  'hyperslab/dataset': dataset,
  'hyperslab/zarr': zarr,
  'hyperslab/cluster': cluster,
  'hyperslab/store': stores,
}

/** Paints values as the first page of the site does. */
export type Draw = (values: ArrayLike<number>, shape: readonly number[]) => void

/** Runs a program; returns its output and the cost of its requests. */
export type RunProgram = (code: string, draw?: Draw) => Promise<{ printed: string[]; cost: string }>

/** Servers whose objects are those of the pages. */
const SERVERS = /^https:\/\/(data\.example|climate\.s3\.eu-central-1\.amazonaws\.com)/

/**
 * Serves the data of the pages for the tests of a file, and returns a function that runs their programs, in a
 * folder of their own.
 */
export function runPages(): RunProgram {
  let folder: string
  let server: RudeServer
  const asked = { requests: 0, bytes: 0 }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hyperslab-pages-'))
    const { layOutData } = await import(new URL('../../site/data.mjs', import.meta.url).href)
    await layOutData(folder, dataset.openDataset)
    server = await RudeServer.start()
    for (const name of readdirSync(folder)) server.put(name, new Uint8Array(readFileSync(join(folder, name))))
    const fetched = globalThis.fetch
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      const response = await fetched(url.replace(SERVERS, server.origin), init)
      asked.requests++
      if (response.ok && init.method !== 'HEAD') asked.bytes += Number(response.headers.get('content-length') ?? 0)
      return response
    })
  })
  afterAll(async () => {
    vi.unstubAllGlobals()
    await server.stop()
    rmSync(folder, { recursive: true })
  })

  return async (code, draw) => {
    Object.assign(asked, { requests: 0, bytes: 0 })
    const printed: string[] = []
    const log = (...values: unknown[]): unknown => printed.push(formatWithOptions({ breakLength: 1000 }, ...values))
    const compilerOptions = { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true }
    const body = ts
      .transpileModule(code, { compilerOptions })
      .outputText.replace(/^import (\{.*\}) from ('.*');?$/gm, 'const $1 = modules[$2]')
    const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (
      ...source: string[]
    ) => (...given: unknown[]) => Promise<void>
    const home = process.cwd()
    process.chdir(folder)
    try {
      await new AsyncFunction('modules', 'console', 'env', 'draw', body)(MODULES, { log }, { BUCKET: new MemoryBucket() }, draw)
    } finally {
      process.chdir(home)
    }
    const bytes = asked.bytes.toString().replace(/\B(?=(\d{3})+$)/g, ' ')
    return { printed, cost: `${asked.requests} requests, ${bytes} bytes.` }
  }
}
