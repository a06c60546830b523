import fc from 'fast-check'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { byBudget, seedOf } from '../support/budget.ts'
import { judge } from './judge.ts'
import { havePeer, Peer } from './peer.ts'
import { Shared } from './shared.ts'
import { histories } from './steps.ts'

const RUNS = byBudget({ quick: 40, full: 120, soak: 3000 })
const SEED = seedOf('histories with the crate', 20261121)

describe.skipIf(!havePeer)('with the Rust crate array-format 0.12', () => {
  let peer: Peer
  beforeAll(async () => {
    peer = await Peer.start()
  }, 1_800_000)
  afterAll(() => peer?.stop())

  test('both sides list and read the same after any operations of either', { timeout: 1_800_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('ours' as const, 'crate' as const), histories, async (by, sessions) => {
        const shared = await Shared.create(peer, by)
        try {
          for (const session of sessions) {
            await shared.run(session)
            await judge(shared, peer)
          }
        } finally {
          await shared.remove()
        }
      }),
      { numRuns: RUNS, seed: SEED },
    )
  })
})
