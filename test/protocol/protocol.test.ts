import { describe, expect, test } from 'vitest'
import { isSoak } from '../support/budget.ts'
import { type Actor, check, type Scenario } from './check.ts'
import { bitOf, type File, type Flaw, file, PROFILES } from './model.ts'

// Larger bounds take minutes and gigabytes.
const LARGE = isSoak

const BEFORE = bitOf(7)
const WHOLE = { own: BEFORE, shared: BEFORE }
const base = file('base')
const layer = file('layer', { on: base, ...WHOLE })
const ofCrate = (): File => file('crate', WHOLE)
const empty = (): File => file('void')
/** A layer that was published late, when what lay below had been cleaned up: a gap is below it. */
const stray = (): Scenario['objects'] => [base, undefined, file('closed', { on: file('base') })]

const writer: Actor = { role: 'writer', turn: 1 }
const compactor: Actor = { role: 'compactor', turn: 1 }
const reader: Actor = { role: 'reader', turn: 1 }
const prober: Actor = { role: 'prober', turn: 1 }
const creator: Actor = { role: 'creator', turn: 1 }
const sealer: Actor = { role: 'sealer', turn: 1 }
const restorer: Actor = { role: 'restorer', turn: 1 }
const later = (actor: Actor): Actor => ({ ...actor, turn: 2 })
const after = (first: number, actor: Actor): Actor => ({ ...actor, after: first })

type Rest = Partial<Scenario> & Pick<Scenario, 'processes'>

const scenario = (name: string, rest: Rest): Scenario => {
  const { objects = [base, layer] } = rest
  const acknowledged = objects.some((each) => each?.own === BEFORE) ? BEFORE : 0
  return { name, profile: PROFILES.conditions, objects, acknowledged, tries: 1, looksAgain: false, ...rest }
}

const SCENARIOS: Scenario[] = [
  // Without a limit of tries: a circle of states would be writers and compactors that hinder each other for
  // ever.
  scenario('two writers get on', { processes: [writer, writer], tries: Number.POSITIVE_INFINITY, looksAgain: true }),
  scenario('a writer and a compactor get on', {
    processes: [writer, compactor],
    tries: Number.POSITIVE_INFINITY,
    looksAgain: true,
  }),
  scenario('two compactors get on', { processes: [compactor, compactor], tries: Number.POSITIVE_INFINITY, looksAgain: true }),
  scenario('two writers, a compactor', { processes: [writer, writer, compactor], tries: 0 }),
  scenario('a writer, two compactors', { processes: [writer, compactor, compactor], tries: 0 }),
  scenario('a reader', { processes: [writer, compactor, reader] }),
  scenario('a reader that probes', { processes: [writer, compactor, prober] }),
  scenario('a reader, over void layers', { processes: [writer, writer, reader], objects: [base, empty(), empty()] }),
  scenario('a reader that probes, over void layers', { processes: [writer, writer, prober], objects: [base, empty()] }),
  scenario('a reader, two compactors, a layer of the crate', {
    processes: [compactor, compactor, reader],
    objects: [base, ofCrate()],
  }),
  scenario('a reader, compacted twice, a layer of the crate', {
    processes: [compactor, after(0, writer), after(1, compactor), reader],
    objects: [base, ofCrate()],
  }),
  scenario('a reader, over a stray layer and a gap', {
    processes: [writer, after(0, writer), after(1, compactor), reader],
    objects: stray(),
  }),
  scenario('a reader, a file of version 6 over the base, and a base over that', {
    processes: [writer, sealer, after(1, restorer), reader],
    tries: 0,
  }),
  scenario('a reader that probes, a file of version 6 over the base, and a base over that', {
    processes: [writer, sealer, after(1, restorer), prober],
    tries: 0,
  }),
  scenario('a reader, compacted, a file of version 6 over the base, and a base over that', {
    processes: [compactor, sealer, after(1, restorer), reader],
  }),
  scenario('a reader that probes, a base over a file of version 6, and a writer', {
    processes: [restorer, after(0, writer), prober],
    objects: [file('immutable', WHOLE), layer],
  }),
  scenario('a crash, the crate, a writer', {
    processes: [writer, compactor, later(writer)],
    crashes: 1,
    crate: ['flush', 'flush'],
    looksAgain: true,
  }),
  scenario('a crash, the crate, a compactor', {
    processes: [writer, compactor, later(compactor)],
    crashes: 1,
    crate: ['flush', 'flush'],
    looksAgain: true,
  }),
  scenario('compacted twice, a crash', {
    processes: [compactor, writer, after(1, compactor)],
    crashes: 1,
    crate: ['flush', 'flush'],
  }),
  scenario('a crash, the crate compacts, a compactor', {
    processes: [writer, compactor, later(compactor)],
    crashes: 1,
    crate: ['flush', 'compact'],
  }),
  scenario('a fault, the crate, a writer', { processes: [writer, compactor, later(writer)], faults: 1, crate: ['flush'] }),
  scenario('a fault, the crate while requests are under way, a writer', {
    processes: [writer, compactor, later(writer)],
    faults: 1,
    unsettled: true,
    crate: ['flush', 'flush'],
  }),
  scenario('a crash and a fault, a layer of the crate', {
    processes: [compactor, later(compactor)],
    objects: [base, ofCrate()],
    crashes: 1,
    faults: 1,
    crate: ['flush'],
  }),
  scenario('nothing can be deleted', {
    processes: [writer, compactor, later(writer)],
    profile: PROFILES.noDelete,
    faults: 1,
    crate: ['flush'],
  }),
  scenario('under a lock', {
    processes: [writer, compactor, later(writer)],
    profile: PROFILES.lock,
    faults: 1,
    crashes: 1,
    crate: ['flush'],
  }),
  scenario('under a lock whose holder is stopped', {
    processes: [writer, compactor, later(writer)],
    profile: PROFILES.lease,
    faults: 1,
    crate: ['flush'],
    looksAgain: true,
  }),
  scenario('under a lock whose holders are stopped, a crash', {
    processes: [writer, compactor, later(writer)],
    profile: PROFILES.lease,
    tries: 0,
    faults: 2,
    crashes: 1,
    crate: ['flush'],
  }),
  scenario('under a lock whose holder is stopped, two compactors', {
    processes: [compactor, compactor, reader],
    objects: [base, ofCrate()],
    profile: PROFILES.lease,
    faults: 1,
  }),
  // As many rounds as there are others: each conflict of a compaction is a success of another process.
  scenario('a compaction ends, beside a writer', {
    processes: [writer, compactor],
    tries: Number.POSITIVE_INFINITY,
    rounds: 1,
    looksAgain: true,
  }),
  scenario('a compaction ends, beside another', {
    processes: [compactor, compactor],
    rounds: 1,
    looksAgain: true,
  }),
  scenario('statistics of two writers', { processes: [writer, writer], stats: true, looksAgain: true }),
  scenario('statistics of a writer and a compactor', { processes: [writer, compactor], stats: true }),
  scenario('statistics, a crash', { processes: [writer, after(0, writer)], crashes: 1, stats: true }),
  scenario('statistics, an initial base', { processes: [writer, writer], objects: [file('initial')], stats: true }),
  scenario('only publishing if absent', {
    processes: [writer, writer, later(writer)],
    profile: PROFILES.neither,
    faults: 1,
    crashes: 1,
    crate: ['flush'],
  }),
  scenario('an initial base', { processes: [writer, writer], objects: [file('initial')], faults: 1, crate: ['flush'] }),
  scenario('an initial base with a layer of the crate', {
    processes: [writer, compactor],
    objects: [file('initial'), ofCrate()],
    tries: 0,
    faults: 1,
    crashes: 1,
    crate: ['flush'],
  }),
  scenario('replacing, and a writer', {
    processes: [creator, writer, later(writer)],
    objects: [base, ofCrate(), file('layer', { on: base, ...WHOLE })],
    crashes: 1,
    crate: ['flush'],
    looksAgain: true,
  }),
  scenario('replacing, and a compactor', {
    processes: [creator, compactor, later(compactor)],
    objects: [base, ofCrate()],
    crashes: 1,
    crate: ['flush'],
    looksAgain: true,
  }),
]

const LARGE_SCENARIOS: Scenario[] = [
  scenario('a compaction ends, beside two writers', {
    processes: [writer, writer, compactor],
    tries: Number.POSITIVE_INFINITY,
    rounds: 2,
  }),
  scenario('a compaction ends, beside a writer and another', {
    processes: [writer, compactor, compactor],
    tries: Number.POSITIVE_INFINITY,
    rounds: 2,
  }),
  scenario('two faults and a crash', {
    processes: [writer, compactor, later(writer)],
    tries: 0,
    faults: 2,
    crashes: 1,
    crate: ['flush'],
  }),
  scenario('two writers, a compactor, a crash', {
    processes: [writer, writer, compactor, later(writer)],
    tries: 0,
    crashes: 1,
    crate: ['flush', 'flush'],
  }),
  scenario('a writer, two compactors, a crash', {
    processes: [writer, compactor, compactor, later(compactor)],
    tries: 0,
    crashes: 1,
    crate: ['flush', 'flush'],
  }),
  scenario('two writers, a compactor, a reader', { processes: [writer, writer, compactor, reader], tries: 0 }),
  // All of them at once: so many interruptions of one process by another can be gone through.
  scenario('two writers, two compactors, a reader', {
    processes: [writer, writer, compactor, compactor, reader],
    switches: 3,
    looksAgain: true,
  }),
  scenario('two writers, two compactors, a reader, where nothing can be deleted', {
    processes: [writer, writer, compactor, compactor, reader],
    profile: PROFILES.noDelete,
    switches: 3,
    looksAgain: true,
  }),
  scenario('two writers, two compactors, a reader, a fault', {
    processes: [writer, writer, compactor, compactor, reader],
    switches: 2,
    tries: 0,
    faults: 1,
    looksAgain: true,
  }),
  scenario('two writers, two compactors, a reader, a fault, a crash, the crate, a writer', {
    processes: [writer, writer, compactor, compactor, reader, later(writer)],
    switches: 1,
    tries: 0,
    faults: 1,
    crashes: 1,
    crate: ['flush'],
    looksAgain: true,
  }),
]

describe('the protocol', () => {
  test.each(LARGE ? [...SCENARIOS, ...LARGE_SCENARIOS] : SCENARIOS)('the protocol holds: $name', (each) => {
    const { states, broken, steps } = check(each)
    if (LARGE) console.log(`${each.name}: ${states} states`)
    expect({ broken, steps }).toEqual({ broken: undefined, steps: undefined })
    // Fewer would be a scenario in which nothing happens.
    expect(states).toBeGreaterThan(20)
  })
})

/** Errors that occur when a rule is left out. Each of these rules once seemed unnecessary. */
const FLAWS: [Flaw, RegExp, Rest][] = [
  ['no close', /acknowledged was/, { processes: [writer, compactor] }],
  ['no confirmation', /acknowledged was/, { processes: [writer, compactor] }],
  [
    'look after the base',
    /acknowledged was/,
    { processes: [writer, writer, after(1, compactor), after(2, writer)], objects: [base], tries: 0 },
  ],
  ['no second look', /was never the state/, { processes: [writer, writer, reader], objects: [base, empty(), empty()] }],
  [
    'no second look',
    /was never the state/,
    { processes: [compactor, after(0, writer), after(1, compactor), reader], objects: [base, ofCrate()] },
  ],
  [
    'no third look',
    /was never the state/,
    { processes: [writer, after(0, writer), after(1, compactor), reader], objects: stray() },
  ],
  ['early base unconfirmed', /was never the state/, { processes: [compactor, reader] }],
  ['early base unconfirmed', /was never the state/, { processes: [compactor, prober] }],
  ['void descending', /the crate reads/, { processes: [writer, compactor], crashes: 1 }],
  [
    'forget merged',
    /half a flush/,
    { processes: [compactor, later(compactor)], objects: [base, ofCrate()], crashes: 1, crate: ['flush'] },
  ],
  ['clean under any base', /is missing below/, { processes: [compactor, writer, after(1, compactor)], crashes: 1 }],
  [
    'no look at the lock',
    /acknowledged was|half a flush/,
    { processes: [writer, compactor, writer], profile: PROFILES.lease, faults: 1, objects: [base, layer, empty()] },
  ],
  ['statistics stay', /statistics of another state/, { processes: [writer], crashes: 1, stats: true }],
  ['no look after statistics', /statistics of another state/, { processes: [writer, writer], stats: true }],
  ['remove listed', /acknowledged was/, { processes: [compactor], objects: [base, ofCrate()], crate: ['flush'] }],
]

describe('the checker finds what goes wrong', () => {
  test.each(FLAWS)('with %s: %s', (flaw, message, rest) => {
    expect(check(scenario(flaw, { ...rest, flaw })).broken).toMatch(message)
  })

  test.each([
    ['a writer', [writer, compactor]],
    ['another', [compactor, compactor]],
  ])('when a compaction beside %s may not start anew at all', (_, processes) => {
    const { broken } = check(scenario('no rounds', { processes, tries: Number.POSITIVE_INFINITY, rounds: 0 }))
    expect(broken).toMatch(/started anew more than 0 times/)
  })

  test('when a writer is killed before its statistics, and those of another are of the state before: other programs see them', () => {
    const { broken } = check(scenario('statistics', { processes: [writer, writer], crashes: 1, stats: true }))
    expect(broken).toMatch(/the crate reads statistics of another state/)
  })

  test('when the crate has its turns over a dead layer of a killed writer, before a writer of ours has cleaned', () => {
    const processes = [writer, compactor]
    const { broken } = check(scenario('strays', { processes, crashes: 1, strays: true, crate: ['flush', 'flush', 'flush'] }))
    expect(broken).toMatch(/half a flush|acknowledged was|is missing/)
  })
})

describe('the protocol before, which replaced the base and deleted by name', () => {
  const objects = [base, ofCrate()]

  test('loses an acknowledged flush to a compaction', () => {
    const { broken, steps } = check(scenario('old', { processes: [writer, compactor, compactor], objects, flaw: 'old' }))
    expect(broken).toMatch(/acknowledged was \{0,7\}, there is \{7\}/)
    expect(steps!.at(-1)).toMatch(/writer 0 publish|compactor . (publish|delete)/)
  })

  test('shows readers that probe a state that never was', () => {
    const { broken } = check(scenario('old', { processes: [compactor, prober], objects, flaw: 'old' }))
    expect(broken).toMatch(/was never the state/)
  })
})
