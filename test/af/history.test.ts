import fc from 'fast-check'
import { test } from 'vitest'
import { open } from '../../src/runtime/index.ts'
import { byBudget } from '../support/budget.ts'
import { histories, runHistory } from './history/histories.ts'
import { expectPast, expectSees } from './history/real.ts'

test('two handles on one container, through any history, and every layer see what a plain map says', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const { model, real } = await runHistory(history)
      for (const [i, file] of real.files.entries()) {
        await expectSees(file, model.handles[i]!.seen, model.handles[i]!.stale)
        await file.close()
      }
      await using reader = await open(real.where)
      await expectSees(reader, model.committed)
      await expectPast(model, real)
    }),
    { numRuns: byBudget({ quick: 150, full: 300, soak: 5000 }) },
  )
})
