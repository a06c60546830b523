// Reading a whole array takes time linear in its chunks: ten times the chunks, ten times the time.
import { create, MemoryStore, open } from '../../dist/index.js'
import { median, random, report, sized, time } from '../measure.mjs'

const CHUNK = 64
const ROUNDS = sized(7, 1)
const FEW = sized(10_000, 1000)
const MANY = 10 * FEW

async function container(chunks) {
  const store = new MemoryStore()
  const file = await create({ store, path: 'a.af' })
  const next = random(chunks)
  const length = chunks * CHUNK
  const array = file.createArray('x', { dtype: 'float32', shape: [length], chunks: [CHUNK] })
  await array.set(
    null,
    Float32Array.from({ length }, () => Math.round(next() * 1e4) / 100),
  )
  await file.flush()
  return store
}

async function readAll(store) {
  const file = await open({ store, path: 'a.af' })
  await file.array('x').get()
}

const [small, large] = [await container(FEW), await container(MANY)]
await readAll(small)
await readAll(large)
const ratios = []
const perChunk = []
for (let round = 0; round < ROUNDS; round++) {
  const [few, many] = [await time(() => readAll(small)), await time(() => readAll(large))]
  ratios.push(many / few)
  perChunk.push((many * 1000) / MANY)
}
console.log(`open and read ${MANY} chunks of ${CHUNK} float32: ${median(perChunk).toFixed(2)} us a chunk`)
const ratio = median(ratios)
report({
  suite: 'chunks',
  name: `${MANY} chunks against ${FEW}`,
  peer: 'itself',
  speed: false,
  ratio,
  goal: 'near 10: 8 to 12.5',
  met: ratio > 8 && ratio < 12.5,
})
