// A Worker with a bucket: the store's conformance, containers in it, and writers who race, a few rounds a
// request.
import { isHyperslabError, R2Store } from 'hyperslab'
import { raceWriters, storeConformance } from 'hyperslab/testing'
import { checker, describe, equal } from '../check.mjs'
import { runEverywhere } from './places.mjs'
import { runRaces } from './races.mjs'

export default {
  async fetch(request, { BUCKET }) {
    const { pathname, searchParams } = new URL(request.url)
    const number = (name) => Number(searchParams.get(name))
    const parts = {
      '/conformance': () => conformance(BUCKET),
      '/suite': () => runEverywhere({ extra: places(BUCKET), pools: [] }),
      '/race': () => race(BUCKET, number('from'), number('to')),
      '/schedules': () => schedules(BUCKET),
      '/races': () => races(BUCKET, { from: number('from'), to: number('to'), atOnce: number('atOnce') }),
    }
    return Response.json(await parts[pathname]().catch((error) => [{ name: pathname, error: describe(error) }]))
  },
}

const places = (bucket) => [
  { name: 'R2', at: (key) => ({ bucket, key: `place/${key}` }) },
  { name: 'R2 store', at: (path) => ({ store: new R2Store(bucket), path: `store/${path}` }) },
]

async function conformance(bucket) {
  const { check, rejects, results } = checker(isHyperslabError)
  let cases = 0
  const make = async () => ({ store: new R2Store(bucket), prefix: `conformance/${cases++}/` })
  for (const { name, run } of storeConformance(make)) await check(`R2: ${name}`, run)

  await check('R2: listing goes on where a page ends', async () => {
    const keys = Array.from({ length: 10 }, (_, i) => `pages/${i}`)
    for (const key of keys) await bucket.put(key, 'x')
    const pages = []
    const small = {
      get: (key, options) => bucket.get(key, options),
      list: (options) => pages.push(options) && bucket.list({ ...options, limit: 4 }),
    }
    equal((await new R2Store(small).list('pages/')).sort(), keys)
    equal(pages.length, 3)
  })
  await check('R2: near ranges share a request, large ones are split, six are under way', async () => {
    const content = Uint8Array.from({ length: 29 * 2 ** 20 }, (_, i) => i % 251)
    await bucket.put('large', content)
    const counted = counting(bucket)
    const ranges = [
      { offset: 0, length: 1000 },
      { offset: 60_000, length: 10 },
      { offset: 2 ** 20, length: 28 * 2 ** 20 },
    ]
    const store = new R2Store(counted)
    const { etag } = await store.stat('large')
    const parts = await store.getRanges('large', ranges, { ifMatch: etag })
    for (const [i, { offset, length }] of ranges.entries()) {
      equal(parts[i].length, length)
      for (let at = 0; at < length; at++) if (parts[i][at] !== content[offset + at]) throw new Error(`byte ${at} of range ${i}`)
    }
    equal([counted.gets, counted.most], [8, 6])
  })
  await check('R2: a file too large for memory is refused, and nothing is stored', async () => {
    const store = new R2Store(bucket, { maxFileBytes: 5 })
    const stage = await store.stage('refused/x.af')
    await stage.append(new Uint8Array(4))
    const error = await rejects('UnsupportedError', () => stage.append(new Uint8Array(2)))
    equal([error.details.file, error.details.actual, error.details.expected], ['r2:refused/x.af', 6, 5])
    await rejects('UnsupportedError', () => stage.publish('refused/x.af', new Uint8Array(2), { ifAbsent: true }))
    equal(await store.list('refused/'), [])
    await stage.publish('refused/x.af', new Uint8Array(1), { ifAbsent: true })
    equal((await store.stat('refused/x.af')).size, 5)
  })
  await check('R2: a key it does not take is an error that names it', async () => {
    const key = 'k'.repeat(2000)
    const error = await rejects('StoreError', () => new R2Store(bucket).put(key, new Uint8Array(1)))
    equal(error.details.file, `r2:${key}`)
  })
  return results
}

/** A bucket that counts what is read, and how much of it at once. */
function counting(bucket) {
  let now = 0
  const counted = {
    gets: 0,
    most: 0,
    head: (key) => bucket.head(key),
    async get(key, options) {
      counted.gets++
      counted.most = Math.max(counted.most, ++now)
      const object = await bucket.get(key, options)
      const bytes = await object.arrayBuffer()
      now--
      return { size: object.size, etag: object.etag, arrayBuffer: async () => bytes }
    },
  }
  return counted
}

async function race(bucket, from, to) {
  const { check, results } = checker(isHyperslabError)
  await check(`R2: twelve writers race, rounds ${from} to ${to}`, async () => {
    for (let seed = from; seed < to; seed++) {
      const conflicts = await raceWriters({ storeFor: () => new R2Store(bucket), path: `race/${seed}.af`, seed })
      const { objects } = await bucket.list({ prefix: 'race/' })
      // Listing takes the longer, the more there is.
      await bucket.delete(objects.map(({ key }) => key))
      if (conflicts === 0) throw new Error(`round ${seed} had no conflict: it was no race`)
    }
  })
  return results
}

async function schedules(bucket) {
  const { check, results } = checker(isHyperslabError)
  await check('R2: writers, compactors and a reader race: nothing is lost', async () => {
    equal((await races(bucket, { from: 0, to: 6, atOnce: 3 })).problems, [])
  })
  return results
}

async function races(bucket, seeds) {
  const outcome = await runRaces(seeds, (seed) => ({ storeFor: () => new R2Store(bucket), path: `schedule/${seed}/a.af` }))
  // Listing takes the longer, the more there is.
  for (let more = true; more; ) {
    const { objects, truncated } = await bucket.list({ prefix: 'schedule/' })
    if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key))
    more = truncated
  }
  return outcome
}
