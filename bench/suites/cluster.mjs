// Cost of planning, which must not depend on the size of the job: a mean of 10 TB in 1.25 million chunks of
// Zarr, of which only the metadata exist.
// And the overhead of the local executor over calling runTask one by one.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { local, openJob, planJob } from '../../dist/cluster.js'
import { create } from '../../dist/index.js'
import { createZarr } from '../../dist/zarr.js'
import { climate, MiB, median, report, sized } from '../measure.mjs'

const folder = mkdtempSync(join(tmpdir(), 'hyperslab-cluster-'))
try {
  const location = join(folder, 'huge.zarr')
  const group = await createZarr(location)
  await group.createArray('tas', {
    dtype: 'float32',
    shape: [2_500_000, 1024, 1024],
    chunks: [2, 1024, 1024],
    dimensionNames: ['time', 'lat', 'lon'],
  })
  await group.close()
  const before = performance.now()
  const plan = await planJob({ method: 'mean', source: { location, array: 'tas' }, options: { axis: 'time' } })
  const seconds = (performance.now() - before) / 1000
  const { tasks, array, units } = plan
  console.log(
    `${array.bytes / 1e12} TB, ${array.chunks} chunks, ${units.count} units, ${tasks.count} tasks, a plan of ${JSON.stringify(plan).length} bytes`,
  )
  const planning = { suite: 'cluster', name: 'plan of a mean of 10 TB' }
  report({ ...planning, peer: '5 s', ratio: seconds / 5, goal: 'at most 1', met: seconds <= 5 })
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024
  report({
    ...planning,
    name: 'peak memory after planning 10 TB',
    peer: '300 MB',
    ratio: peak / 300,
    goal: 'at most 1',
    met: peak <= 300,
  })

  const rows = sized(128, 32)
  const one = { location: join(folder, 'x.af'), array: 'x' }
  const file = await create(one.location, { codec: 'lz4' })
  const shape = [rows, 512, 512]
  await file.createArray('x', { dtype: 'float32', shape, chunks: [1, 512, 512] }).set(null, climate(rows * 512 * 512, 1))
  await file.flush()
  await file.close()
  const source = { concat: new Array(sized(16, 1)).fill(one) }
  const unitBytes = sized(32, 1) * MiB
  const variance = await planJob({ method: 'variance', source }, { unitBytes, taskBytes: 16 * unitBytes })
  const loop = async () => {
    const job = await openJob(variance)
    const parts = []
    for (let i = 0; i < variance.tasks.count; i++) parts.push(await job.runTask(i))
    const result = await job.result(await job.merge(1, 0, parts))
    await job.close()
    return result
  }
  const run = () => local({ concurrency: 1 }).run(variance)
  if (!Object.is(await loop(), await run())) throw new Error('the local executor comes to something else')
  const [ratios, taken] = [[], []]
  for (let round = 0; round < sized(7, 1); round++) {
    const seconds = new Map()
    for (const work of round % 2 === 0 ? [run, loop] : [loop, run]) {
      const start = performance.now()
      await work()
      seconds.set(work, (performance.now() - start) / 1000)
    }
    ratios.push(seconds.get(run) / seconds.get(loop))
    taken.push(seconds.get(loop) / variance.tasks.count)
  }
  const ratio = median(ratios)
  console.log(
    `${variance.tasks.count} tasks of ${median(taken).toFixed(2)} s: local() takes ${ratios.map((each) => each.toFixed(3)).join(', ')} of a loop`,
  )
  report({
    suite: 'cluster',
    name: `${variance.tasks.count} tasks of ${(16 * unitBytes) / MiB} MiB by local()`,
    peer: 'runTask in a loop',
    ratio,
    goal: 'at most 1.05',
    met: ratio <= 1.05,
  })
} finally {
  rmSync(folder, { recursive: true })
}
