// npm run bench:simulate -- [--svg FILE]: simulates how long a mean of 10 TB on S3 takes with 1 to 1000
// workers.
// The costs of a task, a merge and the queue are measured here. Properties that this machine lacks (a cloud
// network, slow or failing machines) are assumed, see ASSUMED.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openJob, planJob } from '../dist/cluster.js'
import { createZarr } from '../dist/zarr.js'
import { climate, inFolder, MiB, median, random, sized } from './measure.mjs'

/** Mean along time of a float32 array of 10 TB: [2 500 000, 1024, 1024] in chunks of [2, 1024, 1024]. */
const JOB = { tasks: 39_063, taskBytes: 256 * MiB, chunksOfTask: 32, fanIn: 256 }

export const ASSUMED = {
  /** Bytes per second from S3 to a worker: one connection reaches 85 to 90 MB/s. */
  rate: 100e6,
  /** Seconds until the first byte. */
  latency: 0.03,
  /** GET requests per second and prefix. */
  requests: 5500,
  /** Seconds until the lock of a silent worker expires, and between the checks of other workers. */
  lock: 30,
  check: 10,
  /** Share of tasks that take longer, twice to ten times. */
  straggling: 0.02,
  /** Mean hours until a worker dies, and seconds until it is replaced. */
  life: 4,
  replaced: 60,
}

export const WORKERS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** Returns the CPU seconds of this process that work takes, user and system. */
async function cpu(work) {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1e6
}

/**
 * Measures the costs of tasks and merges of such a job: medians of CPU time, which other processes do not
 * lengthen.
 */
export async function measured() {
  // Uses four units, because they grow with the cells of a step, up to sixteen times.
  const [steps, side] = [sized(32, 8), sized(512, 128)]
  const rounds = sized(3, 1)
  const times = { task: [], merge: [] }
  let [stored, partial] = [0, 0]
  await inFolder(async (folder) => {
    const location = join(folder, 'x.zarr')
    const group = await createZarr(location)
    const shape = [steps, side, side]
    const array = await group.createArray('tas', {
      dtype: 'float32',
      shape,
      chunks: [2, side, side],
      dimensionNames: ['time', 'lat', 'lon'],
    })
    await array.set(null, climate(steps * side * side, 1))
    await group.close()
    stored =
      Number(spawnSync('du', ['-sb', join(location, 'tas', 'c')], { encoding: 'utf8' }).stdout.split('\t')[0]) /
      (4 * steps * side * side)
    for (let round = 0; round < rounds; round++) {
      // A new operation per round, so that no round finds the results of another.
      const operation = { method: 'mean', source: { location, array: 'tas' }, options: { axis: 'time' } }
      const plan = await planJob(operation, {
        unitBytes: 8 * side * side,
        taskBytes: 8 * side * side,
        scratch: join(folder, `scratch-${round}`),
      })
      const job = await openJob(plan)
      const parts = []
      const bytes = 4 * steps * side * side
      times.task.push(
        (await cpu(async () => {
          for (let i = 0; i < plan.tasks.count; i++) parts.push(await job.runTask(i))
        })) / bytes,
      )
      partial = parts[0].bytes / (side * side)
      times.merge.push((await cpu(() => job.merge(1, 0, parts))) / (parts[0].bytes * parts.length))
      await job.close()
    }
  })
  const cells = 1024 * 1024
  return {
    /** Bytes transferred for each byte of elements. */
    stored,
    partialBytes: partial * cells,
    task: median(times.task) * JOB.taskBytes,
    /** Seconds per merged byte of partial results. */
    merge: median(times.merge),
    // `npm run bench -- queue`: 64 s for 100 000 empty tasks, including all work in Redis and around it.
    queue: 64 / 100_000,
  }
}

/** Events in order of time. */
class Clock {
  #heap = []

  at(time, run) {
    const heap = this.#heap
    let i = heap.push({ time, run }) - 1
    for (let up = (i - 1) >> 1; i > 0 && heap[up].time > heap[i].time; i = up, up = (i - 1) >> 1)
      [heap[up], heap[i]] = [heap[i], heap[up]]
  }

  next() {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (heap.length === 0) return first
    heap[0] = last
    for (let i = 0; ; ) {
      let least = i
      for (const child of [2 * i + 1, 2 * i + 2]) if (child < heap.length && heap[child].time < heap[least].time) least = child
      if (least === i) return first
      ;[heap[least], heap[i]] = [heap[i], heap[least]]
      i = least
    }
  }
}

/**
 * Returns the seconds that the job takes. Workers take merges first, then tasks; if none is left, one worker
 * adds the tasks of the next group. The queue processes one request after another, and so does the bucket
 * beyond the requests it answers per second.
 */
export function simulate(costs, workers, { straggling = 0, life = Number.POSITIVE_INFINITY } = {}, seed = 1) {
  const next = random(seed)
  const clock = new Clock()
  const { tasks, taskBytes, chunksOfTask, fanIn } = JOB
  const groups = Array.from({ length: Math.ceil(tasks / fanIn) }, (_, i) => Math.min(fanIn, tasks - i * fanIn))
  const [waiting, idle] = [[], []]
  let [added, merged, queueFree, bucketFree, end] = [0, 0, 0, 0, undefined]
  const slow = () => (next() < straggling ? 2 + 8 * next() ** 3 : 1)
  const moved = (bytes) => ASSUMED.latency + bytes / ASSUMED.rate
  const read = (bytes) => Math.max(moved(bytes * costs.stored), (bytes / taskBytes) * costs.task)
  const merge = (count) =>
    Math.max(moved(count * costs.partialBytes), count * costs.partialBytes * costs.merge) + moved(costs.partialBytes)
  const left = [...groups]
  const offer = (time, job) => {
    waiting[job.isFirst ? 'unshift' : 'push'](job)
    const worker = idle.pop()
    if (worker !== undefined) take(time, worker)
  }
  const task = (group) => ({
    requests: chunksOfTask,
    seconds: () => read(taskBytes) + moved(costs.partialBytes),
    done: (time) => {
      if (--left[group] === 0)
        offer(time, { isFirst: true, requests: groups[group], seconds: () => merge(groups[group]), done: over })
    },
  })
  const over = (time) => {
    if (++merged === groups.length)
      offer(time, { isFirst: true, requests: merged, seconds: () => merge(merged), done: (last) => (end = last) })
  }
  const adding = (group) => ({
    requests: 0,
    seconds: () => 0,
    done: (time) => {
      queueFree = Math.max(queueFree, time) + (groups[group] * costs.queue) / 2
      for (let i = 0; i < groups[group]; i++) offer(queueFree, task(group))
    },
  })
  const take = (time, worker) => {
    const job = waiting.shift() ?? (added < groups.length ? adding(added++) : undefined)
    if (job === undefined) return idle.push(worker)
    queueFree = Math.max(queueFree, time) + costs.queue / 2
    bucketFree = Math.max(bucketFree, queueFree) + job.requests / ASSUMED.requests
    const stop = Math.max(queueFree + job.seconds() * slow(), bucketFree)
    if (stop > worker.death) {
      clock.at(worker.death + ASSUMED.lock + next() * ASSUMED.check, (now) => offer(now, { ...job, isFirst: true }))
      return clock.at(worker.death + ASSUMED.replaced, (now) => take(now, born(now)))
    }
    clock.at(stop, (now) => {
      job.done(now)
      take(now, worker)
    })
  }
  const born = (time) => ({ death: time - life * 3600 * Math.log(1 - next()) })
  for (let i = 0; i < workers; i++) clock.at(0, (now) => take(now, born(now)))
  while (end === undefined) {
    const { time, run } = clock.next()
    run(time)
  }
  return end
}

/** Scenarios of the chart, from the least trouble to the most. */
export const SCENARIOS = {
  'nothing happens': {},
  stragglers: { straggling: ASSUMED.straggling },
  'stragglers and deaths': { straggling: ASSUMED.straggling, life: ASSUMED.life },
}

/**
 * Returns seconds by scenario and number of workers: medians over some seeds. Adds the time of one
 * undisturbed worker, divided by the number of workers.
 */
export function simulateAll(costs, numbers = WORKERS, seeds = 5) {
  const of = (trouble) =>
    numbers.map((workers) => median(Array.from({ length: seeds }, (_, seed) => simulate(costs, workers, trouble, seed + 1))))
  const found = Object.fromEntries(Object.entries(SCENARIOS).map(([name, trouble]) => [name, of(trouble)]))
  const [alone] = of({}).map((seconds) => seconds * numbers[0])
  return { ...found, 'the work, divided': numbers.map((workers) => alone / workers) }
}

const STYLE = `
text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.dim { fill: #59636e }
.end { text-anchor: end }
.middle { text-anchor: middle }
.page { fill: #ffffff }
.grid { stroke: #d1d9e0 }
.line { fill: none; stroke-width: 2 }
.s0 { stroke: #0969da } .s1 { stroke: #bc4c00; stroke-dasharray: 7 4 } .s2 { stroke: #cf222e } .s3 { stroke: #59636e; stroke-width: 1; stroke-dasharray: 2 3 }
.d0 { fill: #0969da } .d1 { fill: #bc4c00 } .d2 { fill: #cf222e } .d3 { fill: none }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.dim { fill: #9198a1 }
.page { fill: #0d1117 }
.grid { stroke: #3d444d }
.s0 { stroke: #4493f8 } .s1 { stroke: #db6d28 } .s2 { stroke: #f85149 } .s3 { stroke: #9198a1 }
.d0 { fill: #4493f8 } .d1 { fill: #db6d28 } .d2 { fill: #f85149 }
}
`
const [WIDTH, HEIGHT] = [760, 470]
const PLOT = { left: 74, right: 736, top: 76, bottom: 400 }
/** Labelled seconds of the axis. */
const TICKS = { '1 min': 60, '2 min': 120, '5 min': 300, '10 min': 600, '20 min': 1200, '1 h': 3600, '2 h': 7200, '5 h': 18000, '10 h': 36000, '1 day': 86400, '2 days': 172800 } // biome-ignore format: one line

/** Draws the times of all scenarios. */
export function draw(times, note, numbers = WORKERS) {
  const all = Object.values(times).flat()
  const [low, high] = [Math.min(...all) / 1.3, Math.max(...all) * 1.3]
  const along = (value, from, to, start, stop) =>
    start + ((Math.log(value) - Math.log(from)) / (Math.log(to) - Math.log(from))) * (stop - start)
  const x = (workers) => along(workers, numbers[0], numbers.at(-1), PLOT.left, PLOT.right).toFixed(1)
  const y = (seconds) => along(seconds, low, high, PLOT.bottom, PLOT.top).toFixed(1)
  const rows = Object.entries(TICKS)
    .filter(([, seconds]) => seconds >= low && seconds <= high)
    .map(
      ([name, seconds]) =>
        `<line class="grid" x1="${PLOT.left}" x2="${PLOT.right}" y1="${y(seconds)}" y2="${y(seconds)}"/><text class="dim end" x="${PLOT.left - 8}" y="${Number(y(seconds)) + 4}">${name}</text>`,
    )
  const columns = numbers.map(
    (workers) =>
      `<line class="grid" x1="${x(workers)}" x2="${x(workers)}" y1="${PLOT.top}" y2="${PLOT.bottom}"/><text class="dim middle" x="${x(workers)}" y="${PLOT.bottom + 18}">${workers}</text>`,
  )
  const names = Object.keys(times)
  const lines = names.flatMap((name, i) => {
    const points = times[name].map((seconds, k) => [x(numbers[k]), y(seconds)])
    const dots = i === 3 ? [] : points.map(([cx, cy]) => `<circle class="d${i}" cx="${cx}" cy="${cy}" r="3"/>`)
    return [`<polyline class="line s${i}" points="${points.map((point) => point.join()).join(' ')}"/>`, ...dots]
  })
  const legend = names.map((name, i) => {
    const at = 420
    const row = PLOT.top + 20 + 20 * i
    return `<line class="line s${i}" x1="${at}" x2="${at + 34}" y1="${row}" y2="${row}"/><text x="${at + 42}" y="${row + 4}">${name}</text>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">`,
    '<title>Time of a mean of 10 TB on S3 against the number of workers</title>',
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    '<text class="title" x="16" y="30">A mean of 10 TB on S3, simulated</text>',
    '<text class="dim" x="16" y="52">wall time against the number of workers, both logarithmic</text>',
    ...rows,
    ...columns,
    ...lines,
    ...legend,
    `<text class="middle" x="${(PLOT.left + PLOT.right) / 2}" y="${PLOT.bottom + 38}">workers</text>`,
    `<text class="dim" x="16" y="${HEIGHT - 12}">${note}</text>`,
    '</svg>',
    '',
  ].join('\n')
}

/** Returns the note below the chart. */
export const noteOf = ({ task, merge, partialBytes, stored, queue }) =>
  `Measured: ${task.toFixed(2)} s of CPU a task of 256 MiB, stored as ${Math.round(100 * stored)} %; ${(merge * JOB.fanIn * partialBytes).toFixed(1)} s a merge of 256; ${(queue * 1000).toFixed(2)} ms of the queue a task.`

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { svg } = parseArgs({ options: { svg: { type: 'string' } } }).values
  const costs = await measured()
  const times = simulateAll(costs)
  console.log(noteOf(costs))
  for (const [name, seconds] of Object.entries(times))
    console.log(`${name}: ${seconds.map((each, i) => `${WORKERS[i]}: ${(each / 60).toFixed(1)} min`).join(', ')}`)
  if (svg !== undefined) writeFileSync(svg, draw(times, noteOf(costs)))
}
