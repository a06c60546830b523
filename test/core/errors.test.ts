import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { HyperslabError, isHyperslabError, within } from '../../src/core/errors.ts'
import { SingleFlight } from '../../src/core/single-flight.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { create, MemoryStore, open } from '../../src/runtime/index.ts'
import { FaultStore } from '../../src/testing/index.ts'

const failureOf = (work: Promise<unknown>): Promise<HyperslabError> =>
  work.then(
    () => expect.fail('it must fail'),
    (error: HyperslabError) => error,
  )

describe('an error is never changed', () => {
  test('what it is made of is copied', () => {
    const details = { file: 'a.af', actual: [1] }
    const error = new HyperslabError('FormatError', 'wrong', details)
    error.within({ array: 'tas' })
    details.file = 'b.af'
    expect(details).toStrictEqual({ file: 'b.af', actual: [1] })
    expect(error.details).toEqual({ file: 'a.af', actual: [1] })
    expect(Object.isFrozen(error.details)).toBe(true)
  })

  test('context makes another one, of the same tag, text, cause and place', () => {
    const cause = new Error('the disk is gone')
    const error = new HyperslabError('StoreError', 'no answer', { array: 'tas', actual: 3, cause })
    const outer = error.within({ file: 'a.af', array: 'pr' })
    expect(error).toMatchObject({ message: "array 'tas': no answer", details: { array: 'tas', actual: 3 } })
    expect(error.details.file).toBeUndefined()
    expect(outer).toMatchObject({ name: 'StoreError', tag: 'StoreError', message: "a.af: array 'tas': no answer" })
    expect(outer.details).toEqual({ file: 'a.af', array: 'tas', actual: 3, cause })
    expect(outer.cause).toBe(cause)
    expect(isHyperslabError(outer, 'StoreError')).toBe(true)
    const [heading, ...frames] = outer.stack!.split('\n')
    expect(heading).toMatch(/^\w*Error: a\.af: array 'tas': no answer$/)
    expect(frames).toEqual(error.stack!.split('\n').slice(1))
  })

  test('where nothing is added it stays the same one', () => {
    const error = new HyperslabError('StoreError', 'no answer', { file: 'a.af' })
    expect(error.within({ file: 'b.af' })).toBe(error)
    expect(error.within({ array: undefined } as object)).toBe(error)
    expect(error.within({})).toBe(error)
  })

  test.each([
    ['as it is', (label: object) => label],
    ['frozen', (label: object) => Object.freeze(label)],
  ])('the label of a source, %s, stays as it was', async (_, given) => {
    const label = given({ file: 'mine' }) as { file: string }
    const array = new DiskArray({
      dtype: 'float32',
      shape: [4],
      chunks: ChunkGrid.regular([4], [2]),
      label,
      readBlock: async () => {
        // A source may throw its label as the details of an error.
        throw new HyperslabError('StoreError', 'the tape is torn', label).within({ array: 'tas' })
      },
    })
    const error = await failureOf(array.get())
    expect(error).toMatchObject({ tag: 'StoreError', message: "mine: array 'tas': the tape is torn" })
    expect(await failureOf(array.get([9]))).toMatchObject({ tag: 'InvalidSelectionError', details: { file: 'mine' } })
    expect(label).toEqual({ file: 'mine' })
  })
})

test('each of those who wait for one piece of work that fails is told of its own array', async () => {
  const flights = new SingleFlight<string, never>()
  const cause = new Error('reset')
  const fail = async (): Promise<never> => {
    throw new HyperslabError('StoreError', 'no answer', { file: 'a.af', cause })
  }
  const wait = (array: string) => failureOf(within({ array }, () => flights.share('block 0', fail)))
  const [tas, pr] = await Promise.all([wait('tas'), wait('pr')])
  expect([tas.message, pr.message]).toEqual(["a.af: array 'tas': no answer", "a.af: array 'pr': no answer"])
  expect([tas.details.array, pr.details.array]).toEqual(['tas', 'pr'])
  expect([tas.cause, pr.cause]).toEqual([cause, cause])
})

test('two arrays whose chunks lie in one block that cannot be fetched are both named', async () => {
  const store = new MemoryStore()
  const made = await create({ store, path: 'a.af' })
  for (const name of ['tas', 'pr']) await made.createArray(name, { dtype: 'float32', shape: [4] }).set(null, [1, 2, 3, 4])
  await made.flush()
  expect(made.layers()[0]!.blocks).toBe(1)
  await made.close()

  const cause = new Error('reset')
  let broken = false
  const faults = () =>
    broken ? { kind: 'error' as const, error: new HyperslabError('StoreError', 'no answer', { file: 'a.af', cause }) } : undefined
  const faulty = new FaultStore(store, { faults })
  const file = await open({ store: faulty, path: 'a.af' })
  const arrays = [file.array('tas'), file.array('pr')]
  const before = faulty.log.length
  broken = true
  const errors = await Promise.all(arrays.map((array) => failureOf(array.get())))
  expect(faulty.log.length - before).toBe(1)
  expect(errors.map(({ details }) => details.array)).toEqual(['tas', 'pr'])
  expect(errors.map(({ message }) => message)).toEqual(["a.af: array 'tas': no answer", "a.af: array 'pr': no answer"])
  expect(errors.map((error) => error.cause)).toEqual([cause, cause])
})
