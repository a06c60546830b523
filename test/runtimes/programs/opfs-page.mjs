import { runOpfs } from './opfs.mjs'
import { inPage } from './report.mjs'

inPage(runOpfs)
