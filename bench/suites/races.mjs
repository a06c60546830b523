// Five writers, two compactors, and readers over file and over HTTP, each a process of its own, on one
// container; first without pauses after conflicts, then with them. HYPERSLAB_RACE_SECONDS sets the duration.
import { setTimeout as sleep } from 'node:timers/promises'
import { Contest, serveFolder } from '../contenders.mjs'
import { startCrate } from '../crate.mjs'
import { inFolder, report, sized } from '../measure.mjs'

const SECONDS = Number(process.env.HYPERSLAB_RACE_SECONDS ?? sized(60, 5))
const [WRITERS, COMPACTORS, READERS] = [5, 2, 2]

const upTo = (count, from = 0) => Array.from({ length: count }, (_, i) => from + i)
const [writers, compactors] = [upTo(WRITERS), upTo(COMPACTORS)]
/** The first readers read the file, the others read over HTTP. */
const [ofFile, overHttp] = [upTo(READERS), upTo(READERS, READERS)]
const ALL = [
  ['writer', writers, 'flushes'],
  ['compactor', compactors, 'compactions'],
  ['reader', ofFile, 'times read from the file'],
  ['reader', overHttp, 'times read over HTTP'],
]

/** Returns the problems found afterwards; prints the operations done. */
async function race(crate, seconds, pause) {
  const problems = []
  await inFolder(async (folder) => {
    const contest = new Contest(folder, WRITERS)
    await contest.create()
    const server = await serveFolder(folder)
    try {
      const contenders = await Promise.all([
        ...writers.map((i) => contest.start('writer', i, { seed: i, pause })),
        ...compactors.map((i) => contest.start('compactor', i, { seed: 100 + i, pause })),
        ...ofFile.map((i) => contest.start('reader', i, { pause })),
        ...overHttp.map((i) => contest.start('reader', i, { place: `${server.origin}/x.af`, pause })),
      ])
      const started = performance.now()
      await sleep(seconds * 1000)
      await Promise.all(contenders.map((each) => each.stop()))
      const took = (performance.now() - started) / 1000
      console.log(pause === 0 ? 'without pauses after conflicts:' : `with pauses of up to ${pause} ms and more after conflicts:`)
      for (const [role, numbers, what] of ALL) {
        const { done = 0, conflict = 0 } = contest.count(role, numbers)
        const share = (100 * conflict) / Math.max(1, done + conflict)
        console.log(`${done} ${what}, ${(done / took).toFixed(1)} a second; ${share.toFixed(0)} % of tries were conflicts`)
        if (done === 0 && pause > 0) problems.push(`no ${what}`)
        problems.push(...contest.problems(role, numbers))
      }
      problems.push(...(await contest.turn(crate)))
    } finally {
      server.close()
      await contest.close()
    }
  })
  return problems
}

const crate = await startCrate('hyperslab-interop')
const problems = [...(await race(crate, SECONDS / 4, 0)), ...(await race(crate, (SECONDS * 3) / 4, 4))]
crate?.stop()
console.log(`${problems.length} problems`)
// The last problems show the final state.
for (const problem of [...problems.slice(0, 5), ...problems.slice(5).slice(-5)]) console.log(problem)
if (problems.length > 0) process.exitCode = 1
report({
  suite: 'races',
  name: `lost, half or unreadable in ${SECONDS} s of races`,
  peer: 'none',
  speed: false,
  ratio: problems.length,
  goal: '0',
  met: problems.length === 0,
})
