import { describe } from '../check.mjs'
import { facts } from './facts.mjs'
import { runEverywhere } from './places.mjs'

runEverywhere().then(
  (results) => postMessage({ results, facts: facts() }),
  (error) => postMessage({ problem: describe(error) }),
)
