// Races of writers, compactors and a reader by seeds, at a container each: small ones, several at a time, as
// most of the time of one is waiting.
import { raceContainer } from 'hyperslab/testing'

/**
 * Writers, compactors and flushes of each race. The numbers are small, so that there are many races and all
 * processes overlap.
 */
const CASTS = [
  { writers: 2, compactors: 2, flushes: 1 },
  { writers: 2, compactors: 1, flushes: 2 },
  { writers: 3, compactors: 1, flushes: 1 },
  { writers: 1, compactors: 2, flushes: 2 },
]
/** In milliseconds. */
const PAUSES = [2, 0, 8]

/**
 * Runs the races with seeds from `from` on, below `to`, `atOnce` of them at a time. `placeOf(seed)` gives
 * what else `raceContainer` takes.
 * @returns what was counted in all of them, how many were tried and failed, and what went wrong in the first
 *   that did
 */
export async function runRaces({ from, to, atOnce = 4 }, placeOf) {
  const sum = { tried: 0, failed: 0, flushed: 0, compacted: 0, opened: 0, conflicts: 0, lost: 0, half: 0, unreadable: 0 }
  const problems = []
  let next = from
  const race = async () => {
    for (let seed = next++; seed < to; seed = next++) {
      const pause = PAUSES[Math.floor(seed / CASTS.length) % PAUSES.length]
      const cast = { ...CASTS[seed % CASTS.length], seed, pause, compactions: 1, openings: 1 }
      const outcome = await raceContainer({ ...cast, ...placeOf(seed) }).catch((error) => ({ problems: [String(error)] }))
      sum.tried++
      if (outcome.problems.length > 0) sum.failed++
      for (const name in sum) sum[name] += outcome[name] ?? 0
      problems.push(...outcome.problems.map((problem) => `seed ${seed}: ${problem}`))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, race))
  return { ...sum, problems: problems.slice(0, 5) }
}
