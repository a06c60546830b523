// Planning costs no more than the planned work: microseconds for a window of a large array, linear time for
// long lists.
import { points, slice } from '../../dist/index.js'
import { ChunkGrid, plan, resolveSelection } from '../../dist/plan.js'
import { median, random, report, sized } from '../measure.mjs'

const ROUNDS = sized(9, 1)
const next = random(1)
const shape = [100_000, 100_000]
const grid = ChunkGrid.regular(shape, [100, 100])
const planned = (selection) => plan(resolveSelection(selection, shape, { chunks: grid }), grid)

/** Returns milliseconds of CPU time, because planning never waits. */
function time(work) {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Returns the microseconds per window for 1000 windows, as the median of some rounds. */
function windows(selectorOf) {
  const selections = Array.from({ length: 1000 }, () => [selectorOf(), selectorOf()])
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(time(() => selections.forEach(planned)))
  return median(rounds)
}

const start = () => Math.floor(next() * 99_000)
// Compilers need some thousand calls to finish.
windows(() => [slice(5), slice(0, 9, 3), [3, 1, 2]][Math.floor(next() * 3)])
const slices = windows(() => {
  const from = start()
  return slice(from, from + 60)
})
const stepped = windows(() => {
  const from = start()
  return slice(from, from + 60, 3)
})
const lists = windows(() => {
  const from = start()
  return Array.from({ length: 10 }, () => from + Math.floor(next() * 60))
})
for (const [name, cost] of Object.entries({ slices, stepped, 'lists of 10': lists }))
  console.log(`a window of a million chunks, ${name}: ${cost.toFixed(1)} us`)
report({
  suite: 'plan',
  name: 'windows of a million chunks, us each',
  peer: 'nothing',
  speed: false,
  ratio: slices,
  goal: 'microseconds: below 10',
  met: slices < 10,
})

const long = (length) => Int32Array.from({ length }, () => Math.floor(next() * 100_000))
const pairs = (length) => ({ data: long(2 * length), shape: [length, 2] })
for (const [name, selectionOf] of [
  ['a list', (length) => [long(length)]],
  ['points', (length) => [points(pairs(length))]],
]) {
  const [few, many] = [selectionOf(100_000), selectionOf(1_000_000)]
  const ratios = []
  const costs = []
  for (let round = 0; round < ROUNDS; round++) {
    const [small, large] = [time(() => planned(few)), time(() => planned(many))]
    ratios.push(large / small)
    costs.push(large)
  }
  console.log(`${name} of 1 000 000: ${median(costs).toFixed(0)} ms`)
  const ratio = median(ratios)
  report({
    suite: 'plan',
    name: `${name}, 1 000 000 against 100 000`,
    peer: 'itself',
    speed: false,
    ratio,
    goal: 'near 10: below 20',
    met: ratio < 20,
  })
}
