// Reports the findings of pages and workers to the harness.
import { describe } from '../check.mjs'
import { facts } from './facts.mjs'

const outcome = (run) =>
  run().then(
    (results) => ({ results, facts: facts() }),
    (error) => ({ problem: describe(error) }),
  )

/** Runs it in this page or, when the address says so, has the worker named there run it. */
export async function inPage(run) {
  const query = new URLSearchParams(location.search)
  const report = (message) => fetch(`/report/${query.get('id')}`, { method: 'POST', body: JSON.stringify(message) })
  if (query.get('in') !== 'worker') return report(await outcome(run))
  // Not `new URL(…, import.meta.url)`: the harness builds page and worker alike with every bundler.
  const worker = new Worker(query.get('worker'), { type: 'module' })
  worker.onmessage = ({ data }) => report(data)
  worker.onerror = (event) => report({ problem: `the worker failed: ${event.message ?? 'it did not load'}` })
}

export async function inWorker(run) {
  postMessage(await outcome(run))
}
