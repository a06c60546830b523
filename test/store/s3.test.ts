import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { S3Store } from '../../src/store/s3/s3.ts'
import { raceContainer, raceWriters, readableConformance, storeConformance } from '../../src/testing/index.ts'
import { byBudget } from '../support/budget.ts'
import { Ceph, haveCeph } from '../support/ceph.ts'
import { testAll } from '../support/conformance.ts'
import { containers } from './s3/containers.ts'
import { faults } from './s3/faults.ts'
import { objects } from './s3/objects.ts'
import { type Bucket, bucketOf } from './s3/support.ts'
import { zarrStores } from './s3/zarr.ts'

/** Few unless asked for: a round is some 750 requests and takes a second or two. */
const ROUNDS = byBudget({ quick: 3, full: 12, soak: 400 })

const cephThere = haveCeph()
if (!cephThere)
  console.warn(
    'SKIPPED: tests against Ceph (apt-get install ceph-mon ceph-osd radosgw ceph-common; with CI=true, root installs it)',
  )

// One file, because starting the server takes some 15 s.
describe.skipIf(!cephThere)('Ceph', () => {
  let ceph: Ceph
  let bucket: Bucket
  const given = (): Bucket => bucket
  beforeAll(async () => {
    ceph = await Ceph.start()
    await ceph.makeBucket('data')
    await ceph.makeBucket('public', 'public-read')
    bucket = bucketOf(ceph)
  }, 180_000)
  afterAll(() => ceph?.stop(), 60_000)

  describe('reading and writing', () => {
    testAll(storeConformance(async () => ({ store: bucket.store(), prefix: bucket.folder() })))
  })

  describe('reading without credentials', () => {
    const cases = readableConformance(async (content) => {
      const key = `${bucket.folder()}x.af`
      const headers = { 'x-amz-acl': 'public-read' }
      const writer = bucket.store({ bucket: 'public', headers })
      const replace = (bytes: Uint8Array): Promise<void> => writer.put(key, bytes)
      await replace(content)
      const store = new S3Store({ bucket: 'public', endpoint: ceph.endpoint })
      return { store, key, missing: `${key}.none`, replace }
    })
    testAll(cases)
  })

  describe('objects', () => objects(given))
  describe('containers', () => containers(given))
  describe('faults', () => faults(given))
  describe('Zarr', () => zarrStores(given))

  test(
    'twelve writers flush one container at the same time: each gets a number of its own, nothing is lost',
    async () => {
      for (let seed = 0; seed < ROUNDS; seed++) {
        const folder = bucket.folder()
        const conflicts = await raceWriters({ storeFor: () => bucket.store(), path: `${folder}a.af`, seed })
        expect(conflicts).toBeGreaterThan(0)
        const names = (await bucket.store().list(folder)).map((key) => key.slice(folder.length))
        expect(names.filter((name) => !/^a(\.\d+)?\.af$|^a\.stats$/.test(name))).toEqual([])
      }
    },
    ROUNDS * 10_000 + 60_000,
  )

  test('writers, compactors and a reader of one container: nothing is lost', async () => {
    const path = `${bucket.folder()}a.af`
    const race = await raceContainer({ storeFor: () => bucket.store(), path, seed: 0, writers: 2, pause: 5 })
    expect(race.problems).toEqual([])
    expect(race.conflicts).toBeGreaterThan(0)
  }, 60_000)
})
