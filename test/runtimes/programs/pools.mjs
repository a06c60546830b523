import { facts } from './facts.mjs'

/**
 * The pools to try in a page or a worker: where workers from blobs are forbidden, one without runs inline.
 */
export function poolsHere() {
  const [, variant] = location.pathname.split('/')
  const createWorker = () => new Worker(`/${variant}/node_modules/hyperslab/dist/worker.js`, { type: 'module' })
  const { strict, worker } = facts()
  // Workers that Firefox starts from a worker do not always run.
  if (worker && navigator.userAgent.includes('Firefox')) return [{ name: 'a pool', options: {}, workers: false }]
  return [
    { name: 'a pool', options: {}, workers: !strict },
    { name: 'a pool with workers from a file', options: { createWorker }, workers: true },
  ]
}
