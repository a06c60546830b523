import { S3Store, type S3StoreOptions } from '../../../src/store/s3/s3.ts'
import type { ListedStore } from '../../../src/testing/index.ts'
import type { Ceph } from '../../support/ceph.ts'

export const MIB = 2 ** 20

export interface Bucket {
  readonly ceph: Ceph
  /** A store on the bucket `data`, unless the options say something else. */
  store(options?: Partial<S3StoreOptions>): S3Store & ListedStore
  /** Prefix of the keys of a test. */
  folder(): string
}

export function bucketOf(ceph: Ceph): Bucket {
  let folders = 0
  return {
    ceph,
    store: (options) => {
      const { endpoint, credentials } = ceph
      return new S3Store({ bucket: 'data', endpoint, credentials, retryDelay: 1, ...options }) as S3Store & ListedStore
    },
    folder: () => `folder ${folders++}/`,
  }
}

/** Bytes that are nowhere the same as a bit further on. */
export function noise(length: number, seed = 1): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4))
  let state = seed
  for (let i = 0; i < words.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    words[i] = state
  }
  return new Uint8Array(words.buffer, 0, length)
}

/** Whether two are the same, without a list of all differences. */
export const same = (a: Uint8Array | undefined, b: Uint8Array): boolean => a !== undefined && Buffer.compare(a, b) === 0
