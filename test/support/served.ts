import { afterAll, beforeAll, beforeEach } from 'vitest'
import { HttpStore, type HttpStoreOptions } from '../../src/store/http/http.ts'
import { RudeServer } from './rude-server.ts'

/** Bytes of which each tells its place. */
export const counting = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i)

/** A store that tries again at once. */
export const slow = (options: HttpStoreOptions = {}) => new HttpStore({ retryDelay: 1, ...options })

/**
 * Runs a server for the tests of a file, anew polite before each, with an object of `length` bytes; `give` is
 * told both.
 */
export function serve(length: number, give: (rude: RudeServer, url: string) => void): void {
  let rude: RudeServer
  beforeAll(async () => {
    rude = await RudeServer.start()
  })
  afterAll(() => rude.stop())
  beforeEach(() => {
    rude.reset()
    give(rude, rude.put('x.af', counting(length)))
  })
}
