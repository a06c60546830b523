import fc from 'fast-check'
import { broadcast, concat, roll, scaled, stack } from '../../../src/array/combine.ts'
import type { DiskArray } from '../../../src/array/disk-array.ts'
import { sizeOf, stridesOf } from '../../../src/core/shape.ts'
import { points } from '../../../src/grid/selectors.ts'
import type { Slice } from '../../../src/grid/slice.ts'
import { slice } from '../../../src/grid/slice.ts'
import { pick } from '../../support/oracle.ts'

/** An element: what is made of one in a pool, or of a value from nowhere. */
interface Cell {
  /** Index in the pool; -1 for a value from nowhere. */
  readonly place: number
  readonly none: number
  readonly forth: (value: number) => number
  readonly back: (value: number) => number
}

/** A lazy array as the obvious list of its elements. */
export interface Model {
  readonly shape: readonly number[]
  readonly cells: readonly Cell[]
  /** Whether elements can be written. If a list with duplicates was involved, only some parts can be. */
  readonly writable: boolean | 'in part'
  /** Whether a block below may be read for several chunks. */
  readonly repeats: boolean
  /** Whether there is one chunk below for each chunk. */
  readonly oneToOne: boolean
}

export const same = (value: number): number => value

export interface Step {
  readonly name: string
  apply(array: DiskArray<'float64'>): DiskArray<'float64'>
  model(model: Model): Model
}

/** Another array of a given shape, for what takes several. */
export type Another = (shape: readonly number[]) => { array: DiskArray<'float64'>; model: Model }

const gather = (model: Model, shape: readonly number[], cellAt: (index: number[]) => Cell): Model => {
  const stride = stridesOf(shape)
  const cells = Array.from({ length: sizeOf(shape) }, (_, flat) =>
    cellAt(shape.map((length, axis) => Math.floor(flat / stride[axis]!) % length)),
  )
  return { ...model, shape, cells }
}

const at = ({ shape, cells }: Model, index: readonly number[]): Cell => {
  const stride = stridesOf(shape)
  return cells[index.reduce((sum, i, axis) => sum + i * stride[axis]!, 0)]!
}

const over = (model: Model, forth: (value: number) => number, back: (value: number) => number): Model => ({
  ...model,
  cells: model.cells.map((cell) => ({ ...cell, forth: (x) => forth(cell.forth(x)), back: (y) => cell.back(back(y)) })),
})

/** A random operation on an array of this shape. */
export function steps(shape: readonly number[], another: Another): fc.Arbitrary<Step> {
  const rank = shape.length
  const axis = fc.nat(Math.max(0, rank - 1))
  const all: fc.Arbitrary<Step>[] = [
    views(shape),
    pointViews(shape),
    fc.shuffledSubarray([...shape.keys()], { minLength: rank, maxLength: rank }).map((order) => ({
      name: `permute ${order}`,
      apply: (array) => array.transpose(order),
      model: (m) =>
        gather(m, order.map((each) => m.shape[each]!), (index) => at(m, m.shape.map((_, i) => index[order.indexOf(i)]!))), // biome-ignore format: one line
    })),
    fc.subarray([...shape.keys()]).map((axes) => ({
      name: `reverse ${axes}`,
      apply: (array) => array.flip(axes),
      model: (m) => gather(m, m.shape, (index) => at(m, index.map((i, k) => (axes.includes(k) ? m.shape[k]! - 1 - i : i)))), // biome-ignore format: one line
    })),
    fc.constant({
      name: 'squeeze',
      apply: (array) => array.squeeze(),
      model: (m) => ({ ...m, shape: m.shape.filter((length) => length !== 1) }),
    }),
    fc.nat(rank).map((place) => ({
      name: `expandDims ${place}`,
      apply: (array) => array.expandDims(place),
      model: (m) => ({ ...m, shape: m.shape.toSpliced(place, 0, 1) }),
    })),
    fc.constant({
      name: 'reshape -1',
      apply: (array) => flattened(array, [-1]),
      model: (m) => ({ ...m, shape: [sizeOf(m.shape)], oneToOne: false, repeats: true }),
    }),
    fc.constant({
      name: 'reshape to pairs',
      apply: (array) => (sizeOf(shape) % 2 === 0 ? flattened(array, [2, sizeOf(shape) / 2]) : array),
      model: (m) => (sizeOf(shape) % 2 === 0 ? { ...m, shape: [2, sizeOf(shape) / 2], oneToOne: false, repeats: true } : m),
    }),
    fc.tuple(...shape.map(() => fc.tuple(fc.nat(3), fc.nat(3)))).map((widths) => ({
      name: `pad ${JSON.stringify(widths)}`,
      apply: (array) => array.pad(widths, { value: -7 }),
      model: (m) => ({
        ...gather(
          m,
          m.shape.map((n, k) => n + widths[k]![0] + widths[k]![1]),
          (index) => {
            // biome-ignore format: one line
            const inner = index.map((i, k) => i - widths[k]![0])
            return inner.every((i, k) => i >= 0 && i < m.shape[k]!)
              ? at(m, inner)
              : { place: -1, none: -7, forth: same, back: same }
          },
        ),
        writable: false,
      }),
    })),
    fc.tuple(...shape.map(() => fc.tuple(fc.nat(3), fc.nat(3)))).map((widths) => ({
      name: `pad edges ${JSON.stringify(widths)}`,
      apply: (array) => (shape.includes(0) ? array : array.pad(widths, { mode: 'edge' })),
      model: (m) =>
        shape.includes(0)
          ? m
          : {
              ...gather(
                m,
                m.shape.map((n, k) => n + widths[k]![0] + widths[k]![1]),
                (index) => // biome-ignore format: one line
                at(m, index.map((i, k) => Math.min(m.shape[k]! - 1, Math.max(0, i - widths[k]![0])))), // biome-ignore format: one line
              ),
              writable: false,
              repeats: true,
            },
    })),
    fc.tuple(...shape.map((length) => fc.integer({ min: 1, max: length + 1 }))).map((chunks) => ({
      name: `rechunk ${chunks}`,
      apply: (array) => array.rechunk(chunks),
      model: (m) => ({ ...m, oneToOne: false }),
    })),
    fc.constantFrom(0, 200, 1e6).map((maxBytes) => ({
      name: `cache ${maxBytes}`,
      apply: (array) => array.cache({ maxBytes }),
      model: (m) => ({ ...m, oneToOne: false, repeats: true }),
    })),
    fc.constant({
      name: 'map',
      apply: (array) => array.map((x) => 2 * x + 1, { inverse: (y) => (y - 1) / 2 }),
      model: (m) =>
        over(
          m,
          (x) => 2 * x + 1,
          (y) => (y - 1) / 2,
        ),
    }),
    fc.constant({
      name: 'astype there and back',
      apply: (array) =>
        array
          .map((x) => Math.round(2 * x))
          .astype('int64')
          .astype('float64'),
      model: (m) => ({ ...over(m, (x) => Math.round(2 * x), same), writable: false }),
    }),
    fc.constant({
      name: 'scaled',
      apply: (array) => scaled(array, { scaleFactor: 4, addOffset: 8 }),
      model: (m) =>
        over(
          m,
          (x) => 4 * x + 8,
          (y) => (y - 8) / 4,
        ),
    }),
  ]
  if (rank > 0) {
    all.push(
      fc.tuple(axis, fc.integer({ min: -20, max: 20 })).map(([k, shift]) => ({
        name: `roll ${shift} along ${k}`,
        apply: (array) => roll(array, shift, k),
        model: (m) =>
          gather(m, m.shape, (index) => at(m, index.map((i, j) => (j === k ? (((i - shift) % m.shape[k]!) + m.shape[k]!) % m.shape[k]! : i)))), // biome-ignore format: one line
      })),
      fc.tuple(axis, fc.nat(4)).map(([k, length]) => {
        const other = another(shape.map((n, j) => (j === k ? length : n)))
        return {
          name: `concat ${length} along ${k}`,
          apply: (array) => concat([array, other.array], { axis: k }) as DiskArray<'float64'>,
          model: (m) => ({
            ...gather(
              m,
              m.shape.map((n, j) => (j === k ? n + length : n)),
              (index) => // biome-ignore format: one line
              index[k]! < m.shape[k]! ? at(m, index) : at(other.model, index.map((i, j) => (j === k ? i - m.shape[k]! : i))), // biome-ignore format: one line
            ),
            oneToOne: false,
          }),
        }
      }),
    )
  }
  all.push(
    fc.nat(rank).map((place) => {
      const other = another(shape)
      return {
        name: `stack at ${place}`,
        apply: (array) => stack([array, other.array], { axis: place }) as DiskArray<'float64'>,
        model: (m) => ({
          ...gather(m, m.shape.toSpliced(place, 0, 2), (index) =>
            at(index[place] === 0 ? m : other.model, index.toSpliced(place, 1)),
          ),
          oneToOne: false,
        }),
      }
    }),
    fc.constant({
      name: 'broadcast',
      apply: (array) => broadcast((x: number, y: number, z: number) => x + y - z, array, array, 1) as DiskArray<'float64'>,
      model: (m) => ({ ...over(m, (x) => 2 * x - 1, same), writable: false, oneToOne: false, repeats: true }),
    }),
  )
  return fc.oneof(...all)
}

function flattened(array: DiskArray<'float64'>, shape: number[]): DiskArray<'float64'> {
  try {
    return array.reshape(shape)
  } catch (error) {
    // Chunks that would be torn apart go together first.
    if ((error as { tag?: string }).tag !== 'UnsupportedError') throw error
    return array.rechunk(array.shape.map((length) => Math.max(1, length))).reshape(shape)
  }
}

/** Points of the first axes, a mask of them, or a nested list. */
function pointViews(shape: readonly number[]): fc.Arbitrary<Step> {
  if (shape.length === 0 || shape.includes(0)) return views(shape)
  const point = (axes: number): fc.Arbitrary<number[]> => fc.tuple(...shape.slice(0, axes).map((length) => fc.nat(length - 1)))
  const lists = fc
    .integer({ min: 1, max: Math.min(3, shape.length) })
    .chain((axes) => fc.array(point(axes), { minLength: 1, maxLength: 6 }))
  return lists.map((list) => ({
    name: `view points ${JSON.stringify(list)}`,
    apply: (array) => array.view([points(list)]),
    model: (m) => {
      const picked = pick(m.shape, [points(list)])
      const isDistinct = new Set(list.map(String)).size === list.length
      return {
        ...m,
        shape: picked.shape,
        cells: picked.flat.map((flat) => m.cells[flat]!),
        writable: m.writable && (isDistinct ? m.writable : 'in part'),
        repeats: true,
        oneToOne: false,
      }
    },
  }))
}

function views(shape: readonly number[]): fc.Arbitrary<Step> {
  const selector = (length: number): fc.Arbitrary<number | null | Slice | number[]> =>
    fc.oneof(
      fc.constant(null),
      ...(length === 0 ? [] : [fc.uniqueArray(fc.nat(length - 1)), fc.array(fc.nat(length - 1), { maxLength: 5 })]),
      ...(length === 0 ? [] : [fc.integer({ min: -length, max: length - 1 })]),
      fc
        .tuple(
          fc.option(fc.integer({ min: -length, max: length })),
          fc.option(fc.integer({ min: -length, max: length })),
          fc.constantFrom(1, 2, 3, -1, -2),
        )
        .map(([a, b, step]) => slice(a, b, step)),
    )
  return fc.tuple(...shape.map(selector)).map((selection) => ({
    name: `view ${JSON.stringify(selection)}`,
    apply: (array) => array.view(selection),
    model: (m) => {
      const picked = pick(m.shape, selection)
      const lists = selection.filter((each) => Array.isArray(each))
      const ascending = lists.every((list) => list.every((position, i) => i === 0 || position > list[i - 1]!))
      return {
        ...m,
        shape: picked.shape,
        cells: picked.flat.map((flat) => m.cells[flat]!),
        writable: m.writable && (lists.every((list) => new Set(list).size === list.length) ? m.writable : 'in part'),
        repeats: m.repeats || !ascending,
        oneToOne: m.oneToOne && ascending,
      }
    },
  }))
}
