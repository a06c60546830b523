import { median, random, report, sized } from './measure.mjs'

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]

/**
 * Times several ways of doing one thing in this process, in random order, over many rounds. A way is called
 * with the number of the round, to use other data each time, and may be asynchronous. A round repeats all
 * ways until the fastest took long enough for the clock.
 * @param ways functions by name, or `{ timed(count) }` for ways that measure the time themselves, in
 *   another process; the first is this package
 * @returns by name of a peer: median and quartiles of how many times faster this package is; and the
 *   milliseconds per call of all ways
 */
export async function sideBySide(ways, { rounds: usual = 25, roundMs = 2, seed = 1 } = {}) {
  const rounds = sized(usual, 1)
  const names = Object.keys(ways)
  const next = random(seed)
  const once = async (name, count, from) => {
    if (typeof ways[name] === 'object') return ways[name].timed(count)
    const start = performance.now()
    for (let i = 0; i < count; i++) {
      const done = ways[name](from + i)
      if (done instanceof Promise) await done
    }
    return (performance.now() - start) / count
  }
  const counts = {}
  for (const name of names) {
    // Compiles and warms up before anything counts.
    await once(name, sized(5, 1), 0)
    counts[name] = sized(Math.max(1, Math.ceil(roundMs / (await once(name, sized(3, 1), 0)))), 1)
  }
  const times = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const order = names.map((name) => [next(), name]).sort(([a], [b]) => a - b)
    for (const [, name] of order) times[name].push(await once(name, counts[name], round))
  }
  const [ours, ...peers] = names
  const ratios = Object.fromEntries(
    peers.map((peer) => {
      const sorted = times[peer].map((spent, i) => spent / times[ours][i]).sort((a, b) => a - b)
      return [peer, { ratio: median(sorted), low: quantile(sorted, 0.25), high: quantile(sorted, 0.75) }]
    }),
  )
  return { ratios, ms: Object.fromEntries(names.map((name) => [name, median(times[name])])) }
}

/** Formats the speed of `bytes` in `ms` milliseconds, in GB/s; the time, if no bytes are counted. */
const speed = (bytes, ms) => (bytes === 0 ? `${ms.toFixed(2)} ms` : `${(bytes / ms / 1e6).toFixed(2)} GB/s`)

/** Prints a comparison, and reports it for peers that have a goal: the required ratio of speeds. */
export function print(suite, what, bytes, { ms, ratios }, goals) {
  const [ours, ...peers] = Object.keys(ms)
  const shown = peers.map((peer) => {
    const { ratio, low, high } = ratios[peer]
    return `${peer} ${speed(bytes, ms[peer])}: ${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`
  })
  console.log([`${what}: ${speed(bytes, ms[ours])}`, ...shown].join('; '))
  for (const [peer, goal] of Object.entries(goals)) {
    if (ratios[peer] === undefined || goal === undefined) continue
    const { ratio } = ratios[peer]
    report({ suite, name: what, peer, ratio, goal: `>= ${goal}`, met: ratio >= goal })
  }
}
