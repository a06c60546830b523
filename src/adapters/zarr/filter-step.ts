import type { Step } from '../../codec/chain.ts'
import type { Arena } from '../../kernels/arena.ts'

type Filters = typeof import('../../kernels/filters.ts').filters

/** A step that decodes with the kernels of filters. */
type FilterStep = Pick<Step, 'name' | 'encodedBytes'> & {
  decodeIn(kernels: ReturnType<Filters>, arena: Arena, pointer: number, length: number): ReturnType<NonNullable<Step['decodeIn']>>
}

/** Creates a step that decodes with the kernels of filters. They are loaded when the array is opened. */
export function filterStep({ decodeIn, ...step }: FilterStep): Step {
  let filters: Filters | undefined
  return {
    ...step,
    async ready() {
      filters ??= (await import('../../kernels/filters.ts')).filters
    },
    decodeIn: (arena, pointer, length) => decodeIn(filters!(arena), arena, pointer, length),
  }
}
