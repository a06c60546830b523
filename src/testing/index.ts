export type { Conformance } from './check.js'
export { type RaceOptions, raceWriters } from './race.js'
export { type ReadablePlace, readableConformance } from './readable.js'
export { storeConformance, type WritablePlace, type WritableStore, writableConformance } from './writable.js'
