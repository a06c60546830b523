// Overhead of jobs on many machines: a mean of 10 TB on a simulated clock, with the costs measured here. See
// bench/simulation.mjs.
import { report, sized } from '../measure.mjs'
import { measured, noteOf, simulateAll } from '../simulation.mjs'

const WORKERS = [1, 100]
const costs = await measured()
console.log(noteOf(costs))
const times = simulateAll(costs, WORKERS, sized(5, 1))
for (const [name, seconds] of Object.entries(times))
  console.log(`${name}: ${(seconds[1] / 60).toFixed(1)} min by ${WORKERS[1]} workers`)
const ratio = times['stragglers and deaths'][1] / times['the work, divided'][1]
const row = {
  suite: 'simulation',
  name: `a mean of 10 TB by ${WORKERS[1]} workers, of which some are slow or die`,
  peer: 'its work, divided',
}
report({ ...row, ratio, goal: 'at most 1.5', met: ratio <= 1.5 })
