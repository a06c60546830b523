import { describe, expect, test } from 'vitest'
import { chunkTable, encodeFooterFile } from '../../src/af/format/encode.ts'
import { type AttributeValue, decodeFooter, type Footer } from '../../src/af/format/footer.ts'
import { FOOTER_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { resolveAttributes } from '../../src/af/layers/attributes.ts'
import type { LayerEntry } from '../../src/af/layers/stack.ts'
import { MemoryStore, open } from '../../src/runtime/index.ts'

type Pair = readonly [number, number]
interface LayerSpec {
  readonly keys: string[]
  readonly values: string[]
  readonly arrays: Record<string, { pairs: Pair[]; chunks?: number }>
}

const text = (value: string): AttributeValue => ({ type: 'string', value })

/** A layer as another writer may leave it: any dictionaries, any pairs. */
function footer({ keys, values, arrays }: LayerSpec, overlayIndex: number): Footer {
  return {
    version: 5,
    blocks: [],
    arrays: Object.entries(arrays).map(([name, { pairs }]) => ({
      name,
      dtype: { kind: 'uint8' },
      shape: [1],
      dimensionNames: ['x'],
      chunkShape: [1],
      chunks: chunkTable(1),
      fillValue: null,
      deleted: false,
      attributes: { width: 16, keys: pairs.map(([key]) => key), values: pairs.map(([, value]) => value) },
    })),
    attributeKeys: keys,
    attributeValues: values.map(text),
    overlayIndex,
    baseFileHint: '',
  }
}

describe('the attributes of one array across layers', () => {
  /** Newest layer first. */
  const resolve = (...layers: [keys: string[], values: string[], pairs: Pair[], chunks?: number][]) => {
    const entries = layers.map(([keys, values, pairs, chunks = 0]) => {
      const spec = footer({ keys, values, arrays: { a: { pairs } } }, 0)
      const meta = {
        ...spec.arrays[0]!,
        chunks: chunkTable(
          1,
          Array.from({ length: chunks }, () => ({ coord: [0], blockId: 0, offset: 0, size: 1 })),
        ),
      }
      return { layer: { footer: spec }, meta } as unknown as LayerEntry
    })
    const { attributes, ambiguous } = resolveAttributes(entries)
    return { attributes: Object.fromEntries([...attributes].map(([name, { value }]) => [name, value])), ambiguous }
  }

  test('a pair that is new in its layer means the dictionaries there', () => {
    const result = resolve([['title'], ['T'], [[0, 0]]], [['units'], ['m', 'K'], [[0, 1]]])
    expect(result).toEqual({ attributes: { title: 'T' }, ambiguous: false })
  })

  test('a copied pair beyond the dictionaries means those below', () => {
    const below: [string[], string[], Pair[]] = [
      ['units', 'title'],
      ['m', 'T'],
      [
        [0, 0],
        [1, 1],
      ],
    ]
    expect(resolve([[], [], below[2], 1], below)).toEqual({ attributes: { units: 'm', title: 'T' }, ambiguous: false })
    expect(resolve([[], [], below[2], 1], [[], [], below[2], 1], below).attributes).toEqual({ units: 'm', title: 'T' })
  })

  test('a copied pair whose name is the same in both was set again', () => {
    const result = resolve([['units'], ['K'], [[0, 0]], 1], [['units'], ['m'], [[0, 0]]])
    expect(result).toEqual({ attributes: { units: 'K' }, ambiguous: false })
  })

  test('what cannot be decided is taken as set here without chunks, as inherited with, and is reported', () => {
    const below: [string[], string[], Pair[]] = [['units'], ['m'], [[0, 0]]]
    expect(resolve([['title'], ['T'], [[0, 0]]], below)).toEqual({ attributes: { title: 'T' }, ambiguous: true })
    expect(resolve([['title'], ['T'], [[0, 0]], 1], below)).toEqual({ attributes: { units: 'm' }, ambiguous: true })
    expect(
      resolve(
        [
          ['title', 'more'],
          ['T', 'M'],
          [
            [0, 0],
            [1, 1],
          ],
        ],
        below,
      ),
    ).toEqual({ attributes: { units: 'm', more: 'M' }, ambiguous: true })
  })

  test('a pair that points nowhere is left out and reported', () => {
    expect(
      resolve([
        ['units'],
        ['m'],
        [
          [0, 0],
          [1, 7],
        ],
      ]),
    ).toEqual({ attributes: { units: 'm' }, ambiguous: true })
  })
})

/**
 * Looks an attribute up as the Rust crate does. It takes names and values from the newest layer that has the
 * index, whatever layer the pair is from.
 */
function asTheCrateReads(layers: Footer[], array: string, name: string): unknown {
  const newest = [...layers].reverse()
  const key = newest.find(({ attributeKeys }) => attributeKeys.includes(name))?.attributeKeys.indexOf(name)
  const meta = newest.flatMap(({ arrays }) => arrays).find((each) => each.name === array)!
  const value = meta.attributes.values[meta.attributes.keys.indexOf(key ?? -1)]
  return value === undefined
    ? undefined
    : newest.find(({ attributeValues }) => attributeValues.length > value)?.attributeValues[value]?.value
}

describe('writing', () => {
  async function footersOf(store: MemoryStore): Promise<Footer[]> {
    const keys = (await store.list('a.'))
      .filter((key) => key.endsWith('.af'))
      .sort((a, b) => Number(/\d+/.exec(a) ?? 0) - Number(/\d+/.exec(b) ?? 0))
    return Promise.all(
      keys.map(async (key) => {
        const bytes = (await store.getRange(key, 0, (await store.stat(key))!.size))!
        return decodeFooter(splitFile(bytes, FOOTER_MAGIC).payload)
      }),
    )
  }

  async function expectRightForAll(store: MemoryStore, expected: Record<string, Record<string, string>>): Promise<void> {
    await using file = await open({ store, path: 'a.af' })
    const footers = await footersOf(store)
    for (const [name, attributes] of Object.entries(expected)) {
      expect(Object.fromEntries(file.array(name).attrs)).toEqual(attributes)
      for (const [key, value] of Object.entries(attributes))
        expect(asTheCrateReads(footers, name, key), `${name}.${key}`).toBe(value)
    }
  }

  test('over layers that contradict each other states all attributes anew, for every reader', async () => {
    const store = new MemoryStore()
    const specs: LayerSpec[] = [
      { keys: [], values: [], arrays: {} },
      { keys: ['units'], values: ['m'], arrays: { a: { pairs: [[0, 0]] }, c: { pairs: [] } } },
      { keys: ['title'], values: ['T'], arrays: { b: { pairs: [[0, 0]] } } },
    ]
    for (const [number, spec] of specs.entries())
      await store.put(number === 0 ? 'a.af' : `a.${number}.af`, encodeFooterFile(footer(spec, number)))
    // Before, the crate gets it wrong.
    expect(asTheCrateReads(await footersOf(store), 'a', 'units')).toBe('T')
    await using file = await open({ store, path: 'a.af' })
    file.array('c').attrs.set('note', 'N')
    await file.flush()
    await expectRightForAll(store, { a: { units: 'm' }, b: { title: 'T' }, c: { note: 'N' } })
    file.array('b').attrs.set('units', 'K')
    await file.array('a').set(null, 5)
    await file.flush()
    await expectRightForAll(store, { a: { units: 'm' }, b: { title: 'T', units: 'K' }, c: { note: 'N' } })
    await file.compact()
    await expectRightForAll(store, { a: { units: 'm' }, b: { title: 'T', units: 'K' }, c: { note: 'N' } })
  })
})

test('attributes that another program mixed up are pointed out', async () => {
  const layer = (number: number, key: string, value: string) =>
    encodeFooterFile(footer({ keys: [key], values: [value], arrays: { a: { pairs: [[0, 0]] } } }, number))
  const store = new MemoryStore()
  await store.put('a.af', layer(0, 'units', 'm'))
  {
    await using file = await open({ store, path: 'a.af' })
    expect(file.warnings()).toEqual([])
  }
  await store.put('a.1.af', layer(1, 'title', 'T'))
  await using file = await open({ store, path: 'a.af' })
  expect(file.warnings()).toEqual([expect.stringMatching(/a\.af: array 'a': .*attributes/)])
})
