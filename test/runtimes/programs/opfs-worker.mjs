import { runOpfs } from './opfs.mjs'
import { inWorker } from './report.mjs'

inWorker(runOpfs)
