import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { encodeFooter6 } from '../../src/af/format/encode-v6.ts'
import { FOOTER_MAGIC } from '../../src/af/format/footer.ts'
import type { FooterArrays } from '../../src/af/format/footer-arrays.ts'
import { readFooter6 } from '../../src/af/format/footer-v6.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { create, MemoryStore, open, writeImmutable } from '../../src/runtime/index.ts'
import { mutated } from '../interop/mutations.ts'
import { byBudget, seedOf } from '../support/budget.ts'
import { random } from './rkyv/support.ts'

const FOLDER = fileURLToPath(new URL('../fixtures/af6/', import.meta.url))
const FILES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.af'))
  .map((name) => new Uint8Array(readFileSync(FOLDER + name)))
const DATA_BYTES = 60_000
const COUNT = byBudget({ quick: 10_000, full: 50_000, soak: 1_000_000 })
const SEED = seedOf('footer arrays', 20261126)

/** Returns the arrays that are read, or the error. A report makes the reader check each array by itself. */
function outcome(payload: Uint8Array, dataBytes: number, pass: boolean) {
  try {
    const footer = pass
      ? readFooter6(payload, dataBytes)
      : readFooter6(payload, dataBytes, undefined, (error) => {
          throw error
        })
    const { stored, ...rest } = footer
    return { footer: rest, doubtful: (stored as FooterArrays).doubtful.length, names: stored!.names }
  } catch (error) {
    if (!isHyperslabError(error, 'FormatError', 'UnsupportedError')) throw error
    return { refusal: error.message }
  }
}

function payloadOf(file: Uint8Array): Uint8Array | undefined {
  try {
    return splitFile(file, FOOTER_MAGIC).payload
  } catch {
    return undefined
  }
}

const PAYLOADS = FILES.map(payloadOf).filter((payload) => payload !== undefined)

describe('the pass over the arrays of a footer of version 6', () => {
  test('gives the same arrays and refusals as reading each of them', () => {
    let right = 0
    for (const payload of PAYLOADS) {
      const [quick, whole] = [outcome(payload, DATA_BYTES, true), outcome(payload, DATA_BYTES, false)]
      expect({ ...quick, doubtful: 0 }).toEqual({ ...whole, doubtful: 0 })
      if (quick.names !== undefined) right += quick.names.length - quick.doubtful
    }
    expect(right).toBeGreaterThan(100)
  })

  test('accepts no damage that reading each array refuses, and reads the same where both accept', { timeout: 1_800_000 }, () => {
    const seeds = PAYLOADS.filter(({ length }) => length < 6000)
    const next = random(SEED)
    let [accepted, refused] = [0, 0]
    for (let i = 0; i < COUNT; i++) {
      const payload = mutated(seeds[next(seeds.length)]!, seeds, next)
      const [quick, whole] = [outcome(payload, DATA_BYTES, true), outcome(payload, DATA_BYTES, false)]
      const note = `seed ${SEED}, damage ${i}: ${quick.refusal} | ${whole.refusal}: ${Buffer.from(payload).toString('base64')}`
      // The first of several contradictions may be another one.
      expect(quick.refusal === undefined, note).toBe(whole.refusal === undefined)
      if (quick.footer === undefined || whole.footer === undefined) {
        refused++
        continue
      }
      accepted++
      expect(quick.names, note).toEqual(whole.names)
      expect(Buffer.compare(encodeFooter6(quick.footer), encodeFooter6(whole.footer)), note).toBe(0)
    }
    expect(Math.min(accepted, refused)).toBeGreaterThan(COUNT / 50)
  })

  test('makes no array that is not asked for', async () => {
    const place = { store: new MemoryStore(), path: 'a.af' }
    const file = await create(place)
    for (let i = 0; i < 300; i++) {
      const array = file.createArray(`name ${i} ${'long '.repeat(i % 7)}`, { dtype: 'int16', shape: [4, i % 3], chunks: [3, 2] })
      array.attrs.set('units', i % 2 === 0 ? 'K' : 'm').set('n', i)
      if (i % 3 > 0) await array.fill(i)
    }
    await file.flush()
    const target = { store: new MemoryStore(), path: 'b.af' }
    await writeImmutable(file, target)
    const bytes = (await target.store.getRange('b.af', 0, (await target.store.stat('b.af'))!.size))!
    const { payload, dataBytes } = splitFile(bytes, FOOTER_MAGIC)
    const footer = readFooter6(payload, dataBytes)
    expect((footer.stored as FooterArrays).doubtful).toEqual([])
    const copy = await open(target)
    expect(copy.arrays()).toEqual(file.arrays())
    expect([...copy.attributeIndex('n')]).toEqual([...file.attributeIndex('n')])
    expect([...copy.attributeIndex('none')]).toEqual([])
    for (const name of copy.arrays().reverse()) {
      expect(copy.array(name).shape).toEqual(file.array(name).shape)
      expect([...copy.array(name).attrs].sort()).toEqual([...file.array(name).attrs].sort())
      expect(await copy.array(name).get()).toEqual(await file.array(name).get())
    }
  })
})
