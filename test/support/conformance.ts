import { expect, test } from 'vitest'
import type { Conformance } from '../../src/testing/index.ts'

/** Makes a test of each case. */
export function testAll(cases: readonly Conformance[]): void {
  expect(cases.length).toBeGreaterThan(0)
  for (const { name, run } of cases) test(name, () => expect(run()).resolves.toBeUndefined())
}
