// A mean over an array in a bucket, by three workers on this machine: processes of the command, as they would run on three others.
//
//   node examples/cluster/three-workers.mjs redis://127.0.0.1 s3://bucket/example
//
// Writes a month of hourly values below that place, unless it is there. The server of S3 and the keys are those of the environment
// (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY).
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { bullmq, local, planJob } from 'hyperslab/cluster'
import { createZarr, openZarr } from 'hyperslab/zarr'

const [url, place] = process.argv.slice(2)
if (url === undefined || place === undefined) {
  console.error('usage: three-workers.mjs redis://host s3://bucket/folder')
  process.exit(2)
}
const location = `${place}/hourly.zarr`
const shape = [744, 36, 72]

try {
  await (await openZarr(location)).close()
} catch (error) {
  if (error.tag !== 'NotFoundError') throw error
  const group = await createZarr(location)
  const tas = await group.createArray('tas', {
    dtype: 'float32',
    shape,
    chunks: [24, 36, 72],
    dimensionNames: ['time', 'lat', 'lon'],
  })
  const cells = shape[1] * shape[2]
  await tas.set(
    null,
    Float32Array.from(
      { length: shape[0] * cells },
      (_, i) => 288 + 8 * Math.sin((Math.floor(i / cells) / 24) * 2 * Math.PI) + (i % 36) / 9,
    ),
  )
  await group.close()
}

const command = fileURLToPath(new URL('cli.js', import.meta.resolve('hyperslab')))
const prefix = `three-workers-${process.pid}`
const workers = Array.from({ length: 3 }, () =>
  spawn(process.execPath, [command, 'work', '--queue', url, '--prefix', prefix, '--allow', `${place}/`], {
    stdio: ['ignore', 'inherit', 'inherit'],
  }),
)
try {
  // A task for each day; partial results of 36 x 72 cells are too large for the queue.
  const operation = { method: 'mean', source: { location, array: 'tas' }, options: { axis: 'time' } }
  const plan = await planJob(operation, { unitBytes: 1, taskBytes: 1, scratch: `${place}/scratch` })
  const onProgress = ({ done, total }) => process.stderr.write(`\r${done} of ${total} tasks`)
  const mean = await bullmq({ url, prefix }).run(plan, { onProgress })
  process.stderr.write('\n')
  const alone = await local().run(plan)
  const same = Buffer.from(mean.data.buffer).equals(Buffer.from(alone.data.buffer))
  console.log(
    `mean of ${plan.tasks.count} tasks by three workers: [${mean.shape}], ${same ? 'the bits' : 'not the bits'} of one process`,
  )
  if (!same) process.exitCode = 1
} finally {
  for (const worker of workers) worker.kill('SIGTERM')
}
