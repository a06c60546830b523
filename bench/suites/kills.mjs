// Processes that flush and compact are killed at random moments, while a reader reads. All acknowledged
// operations must survive, for this package and for the Rust crate. HYPERSLAB_KILLS sets the number of kills.
import { setTimeout as pause } from 'node:timers/promises'
import { Contest } from '../contenders.mjs'
import { startCrate } from '../crate.mjs'
import { inFolder, random, report, sized } from '../measure.mjs'

const KILLS = Number(process.env.HYPERSLAB_KILLS ?? sized(1000, 100))
/** Number of writers; every second one compacts after each flush. */
const WRITERS = 4
const COMPACTORS = 1
/** Number of kills between two turns of the crate. */
const BATCH = 50
/** Longest lifetime of a process, in milliseconds, after it began to open the container. */
const LIFE = 600

const crate = await startCrate('hyperslab-interop')
const next = random(1)
const problems = []
let killed = 0
/** Counts of the operation that was under way when a process was killed. */
const within = { flush: 0, compact: 0, idle: 0 }
const writers = Array.from({ length: WRITERS }, (_, i) => i)
const compactors = Array.from({ length: COMPACTORS }, (_, i) => i)

await inFolder(async (folder) => {
  const contest = new Contest(folder, WRITERS)
  await contest.create()
  const started = performance.now()
  try {
    while (killed < KILLS && problems.length === 0) {
      let left = Math.min(BATCH, KILLS - killed)
      const one = async (role, number) => {
        while (left-- > 0) {
          const compacts = role === 'writer' && number % 2 === 1
          const contender = await contest.start(role, number, { seed: killed * 8 + number, compacts })
          await pause(LIFE * next())
          await contender.kill()
          within[contest.doing(role, number)]++
          killed++
        }
      }
      const reader = await contest.start('reader', 0)
      await Promise.all([...writers.map((i) => one('writer', i)), ...compactors.map((i) => one('compactor', i))])
      await reader.stop()
      problems.push(...(await contest.turn(crate)))
    }
    const seconds = (performance.now() - started) / 1000
    const [flushed, compacted] = [contest.count('writer', writers), contest.count('compactor', compactors)]
    const read = contest.count('reader', [0])
    problems.push(...contest.problems('writer', writers), ...contest.problems('compactor', compactors))
    problems.push(...contest.problems('reader', [0]))
    console.log(
      `${killed} processes killed in ${seconds.toFixed(0)} s: ${within.flush} within a flush, ${within.compact} within a compaction, ` +
        `${within.idle} otherwise`,
    )
    const compactions = (flushed.compacted ?? 0) + (compacted.done ?? 0)
    console.log(
      `${flushed.done} flushes and ${compactions} compactions acknowledged, ${read.done ?? 0} times read meanwhile; ` +
        `${flushed.conflict ?? 0} conflicts of writers, ${compacted.conflict ?? 0} of compactors`,
    )
  } finally {
    await contest.close()
  }
})
crate?.stop()
console.log(`${problems.length} problems`)
// The last problems show the final state.
for (const problem of [...problems.slice(0, 5), ...problems.slice(5).slice(-5)]) console.log(problem)
if (problems.length > 0) process.exitCode = 1
report({
  suite: 'kills',
  name: `lost, half or unreadable after ${killed} kills`,
  peer: 'none',
  speed: false,
  ratio: problems.length,
  goal: '0',
  met: problems.length === 0,
})
