// Sends what the suite finds in this page, or in a worker started from it, to the server of the harness.
import { describe } from '../check.mjs'
import { facts } from './facts.mjs'
import { runEverywhere } from './places.mjs'

const query = new URLSearchParams(location.search)
const report = (message) => fetch(`/report/${query.get('id')}`, { method: 'POST', body: JSON.stringify(message) })

if (query.get('in') === 'worker') {
  // Not `new URL(…, import.meta.url)`: the harness builds page and worker alike with every bundler.
  const worker = new Worker(query.get('worker'), { type: 'module' })
  worker.onmessage = ({ data }) => report(data)
  worker.onerror = (event) => report({ problem: `the worker failed: ${event.message ?? 'it did not load'}` })
} else {
  runEverywhere().then(
    (results) => report({ results, facts: facts() }),
    (error) => report({ problem: describe(error) }),
  )
}
