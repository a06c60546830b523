export { type CountedSource, countAccesses } from './access-counter.js'
export type { Conformance } from './check.js'
export { type FaultControls, FaultStore, type FaultStoreOptions } from './fault-store.js'
export {
  type Fault,
  type FaultDetails,
  type FaultKind,
  type FaultScript,
  type Operation,
  type OperationKind,
  type SeededFaultsOptions,
  seededFaults,
} from './faults.js'
export { type RaceOptions, raceWriters } from './race.js'
export { type ContainerRace, type ContainerRaceOptions, raceContainer } from './race-container.js'
export { type ReadablePlace, readableConformance } from './readable.js'
export { sourceConformance } from './source.js'
export { storeConformance, type WritablePlace, type WritableStore, writableConformance } from './writable.js'
