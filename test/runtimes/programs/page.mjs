// The suite in this page, or in a worker started from it.
import { runEverywhere } from './places.mjs'
import { poolsHere } from './pools.mjs'
import { inPage } from './report.mjs'

inPage(() => runEverywhere({ pools: poolsHere() }))
