import fc from 'fast-check'
import { seedOf } from './budget.ts'

/** Properties draw the same cases in every run, so that a commit passes on all machines or on none; a soak draws new ones. */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: seedOf('properties', 20_261_126) })
