import fc from 'fast-check'
import { drawSeed } from './budget.ts'

/** Properties draw the same cases from the same seed, so that a commit passes on all machines or on none. */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: drawSeed(20_261_126) })
