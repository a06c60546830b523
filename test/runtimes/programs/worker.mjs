import { runEverywhere } from './places.mjs'
import { poolsHere } from './pools.mjs'
import { inWorker } from './report.mjs'

inWorker(() => runEverywhere({ pools: poolsHere() }))
