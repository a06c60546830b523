// One Worker in workerd, as a program of its own: node edge.mjs <application> <program> <compatibility date>
// [path …]. Asks for the paths one after another and prints what was checked.
import { startWorker } from './edge-worker.mjs'

const [app, program, compatibilityDate, ...paths] = process.argv.slice(2)
const miniflare = await startWorker(app, program, { compatibilityDate })
try {
  const results = []
  for (const path of paths.length > 0 ? paths : ['/']) {
    const response = await miniflare.dispatchFetch(`http://worker${path}`)
    results.push(...(await response.json()))
  }
  console.log(JSON.stringify(results))
} finally {
  await miniflare.dispose()
}
