import { facts } from './facts.mjs'

/** The pools to try in a page or a worker: where workers from blobs are forbidden, one without runs inline. */
export function poolsHere() {
  const [, variant] = location.pathname.split('/')
  const createWorker = () => new Worker(`/${variant}/node_modules/hyperslab/dist/worker.js`, { type: 'module' })
  const { strict, worker } = facts()
  // A worker that Firefox starts from a worker sometimes never runs: the pool gives it five seconds and goes on without.
  const wanted = worker && navigator.userAgent.includes('Firefox') ? undefined : true
  return [
    { name: 'a pool', options: {}, workers: strict ? false : wanted },
    { name: 'a pool with workers from a file', options: { createWorker }, workers: wanted },
  ]
}
