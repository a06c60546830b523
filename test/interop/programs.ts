import { sizeOf } from '../../src/core/shape.ts'
import { type ArrayFile, create, type Location, MemoryStore, writeImmutable } from '../../src/runtime/index.ts'
import { ModelArray } from './model.ts'
import type { Peer } from './peer.ts'
import { setBox } from './shared.ts'
import { boxOf, type Program, valuesOf } from './steps.ts'
import { wireAttribute, wireData, wireScalar } from './wire.ts'

/** Arrays by name, in the order in which they were defined. */
export type Arrays = Map<string, ModelArray>

/** Side that carries out the steps of a program. */
interface Side {
  define(array: ModelArray): Promise<unknown>
  write(
    array: ModelArray,
    start: readonly number[],
    shape: readonly number[],
    data: ReturnType<typeof valuesOf>,
  ): Promise<unknown>
  attribute(array: ModelArray, key: string, value: Parameters<typeof wireAttribute>[0]): Promise<unknown>
}

/** Carries out the steps of a program; those that do not apply do nothing. */
async function perform({ steps }: Program, side: Side): Promise<Arrays> {
  const arrays: Arrays = new Map()
  for (const step of steps) {
    if (step.kind === 'define') {
      if (arrays.has(step.name)) continue
      const array = new ModelArray(step.name, step.options)
      await side.define(array)
      arrays.set(step.name, array)
      continue
    }
    const array = [...arrays.values()][step.pick % Math.max(1, arrays.size)]
    if (array === undefined) continue
    if (step.kind === 'attribute') {
      await side.attribute(array, step.key, step.value)
      array.attributes.set(step.key, step.value)
      continue
    }
    const { start, shape } = boxOf(array.options.shape, step.corners)
    const data = valuesOf(array, sizeOf(shape), step.values)
    await side.write(array, start, shape, data)
    array.write(start, shape, data as ArrayLike<unknown>)
  }
  return arrays
}

/** Has this package carry out a program in a container, whose changes are then pending. */
export const writeSteps = (program: Program, file: ArrayFile): Promise<Arrays> =>
  perform(program, {
    define: async ({ name, options }) => file.createArray(name, options),
    write: ({ name }, start, shape, data) => setBox(file.array(name), start, shape, data),
    attribute: async ({ name }, key, value) => file.array(name).attrs.set(key, value),
  })

/** Has this package write what a program says, in a file of footer version 6. */
export async function writeHere(program: Program, place: Location): Promise<Arrays> {
  await using file = await create({ store: new MemoryStore(), path: 'draft.af' })
  const arrays = await writeSteps(program, file)
  await file.flush()
  const { codec, blockBytes } = program
  await writeImmutable(file, place, { codec, blockBytes })
  return arrays
}

/** The same by the crate, from its version 0.15 on. */
export async function writeInCrate(program: Program, peer: Peer, place: { folder: string; file: string }): Promise<Arrays> {
  const { codec, blockBytes } = program
  await peer.do('create', { codec, blockBytes })
  const arrays = await perform(program, {
    define: ({ name, dtype, fill, options: { shape, chunks: chunkShape, dimensionNames } }) =>
      peer.do('define', { name, dtype, shape, chunkShape, dimensionNames, fillValue: wireScalar(fill) }),
    write: ({ name, dtype }, start, shape, data) => peer.do('write', { name, dtype, start, shape, data: wireData(dtype, data) }),
    attribute: ({ name }, key, value) => peer.do('attribute', { name, key, value: wireAttribute(value) }),
  })
  await peer.do('finish', place)
  return arrays
}
