import type { Server } from 'node:http'
import type { ZarrStoreOfArrays } from '../runtime/zarr.ts'
import {
  type Answer,
  createReadServer,
  encodeText,
  JSON_TYPE,
  rangeAnswer,
  type ServerOptions,
  textAnswer,
} from './http-answers.ts'

/** Serves GET and HEAD for the objects of several stores by name, including ranges. */
export const createZarrServer = (stores: ReadonlyMap<string, ZarrStoreOfArrays>, options: ServerOptions): Server =>
  createReadServer(async ({ path, range, signal }): Promise<Answer> => {
    if (path === '/') return { status: 200, headers: JSON_TYPE, body: encodeText(JSON.stringify([...stores.keys()])) }
    const [, name = '', key = ''] = /^\/([^/]*)(\/.*)?$/s.exec(path) ?? []
    const bytes = key === '' ? undefined : await stores.get(name)?.get(key as `/${string}`, { signal })
    if (bytes === undefined) return textAnswer(404, 'there is no such object')
    const type = key.endsWith('.json') ? JSON_TYPE : { 'content-type': 'application/octet-stream' }
    return rangeAnswer(range, bytes.length, type, (start, stop) => ({ body: bytes.subarray(start, stop) }))
  }, options)
