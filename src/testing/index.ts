/**
 * Conformance tests for stores and sources, stores that inject faults, and sources that count accesses.
 * @module hyperslab/testing
 */

export { type CountedSource, countAccesses } from './access-counter.ts'
export type { Conformance } from './check.ts'
export { type FaultControls, FaultStore, type FaultStoreOptions } from './fault-store.ts'
export {
  type Fault,
  type FaultDetails,
  type FaultKind,
  type FaultScript,
  type Operation,
  type OperationKind,
  type SeededFaultsOptions,
  seededFaults,
} from './faults.ts'
export { type RaceOptions, raceWriters } from './race.ts'
export { type ContainerRace, type ContainerRaceOptions, raceContainer } from './race-container.ts'
export { type ReadablePlace, readableConformance } from './readable.ts'
export { sourceConformance } from './source.ts'
export { type ListedStore, storeConformance, type WritablePlace, writableConformance } from './writable.ts'
