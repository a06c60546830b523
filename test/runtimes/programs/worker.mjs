import { runEverywhere } from './places.mjs'
import { inWorker } from './report.mjs'

inWorker(runEverywhere)
