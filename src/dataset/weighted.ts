import type { DiskArray } from '../array/disk-array.ts'
import { HyperslabError } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import { combineArrays } from './arithmetic.ts'
import { asFloats, presence } from './cast-float.ts'
import { computedOnce } from './computed.ts'
import { coordsAlong, type Labelled } from './coords.ts'
import type { Wrap } from './grouped-reductions.ts'
import { axesOf, REDUCE_CHECKS, type ReduceDimsOptions, reduceAlong, reducedTo, skipping } from './reductions.ts'

/** Options that reduce all dimensions. */
type Whole = { readonly axis?: undefined }

/** An array with weights along some of its dimensions. Reductions are lazy. */
export class Weighted<A, W = A> {
  readonly #array: Labelled
  readonly #weights: Labelled
  readonly #wrap: Wrap<A>

  /** @internal */
  constructor(array: Labelled, weights: Labelled, wrap: Wrap<A>) {
    const { dims } = weights.variable
    const other = dims.find((dim) => !array.variable.dims.includes(dim))
    if (other !== undefined || dims.length === 0) {
      const text = `weights lie along some of the dimensions ${array.variable.dims.join(', ')}, not along [${dims.join(', ')}]`
      throw new HyperslabError('InvalidArgumentError', text, { array: array.variable.name, actual: dims })
    }
    this.#array = array
    this.#weights = complete(weights)
    this.#wrap = wrap
  }

  /**
   * Returns the weighted mean along some dimensions, as float64; NaN if there are no values or the weights
   * sum to 0. With weights along several dimensions, the values are read twice. Reading it throws
   * InvalidArgumentError if a weight is missing, as for {@link sum}.
   */
  mean(options?: ReduceDimsOptions & Whole): W
  mean(options?: ReduceDimsOptions): A
  mean(options: ReduceDimsOptions = {}): A | W {
    const { variable, coordinates } = this.#array
    const { array, name } = variable
    checkOptions('mean', options, REDUCE_CHECKS, { array: name })
    // Arithmetic compares labels and lengths.
    combineArrays(this.#array, this.#weights, 'mul')
    if (this.#weights.variable.dims.length > 1) return this.#wrap(this.#meanOfProducts(options), 'mean', options)
    const { axis, kept, shape } = axesOf(variable, options.axis)
    const how = { axis, ...skipping(array, options.skipMissing) }
    const compute = async (signal: Signal) =>
      (await import('./weights.ts')).meanByWeights(variable, this.#weights.variable, { ...how, signal })
    const means = reducedTo(variable, computedOnce([array, this.#weights.variable.array], 'float64', shape, compute), kept)
    return this.#wrap({ variable: means, coordinates: coordsAlong(coordinates, kept) }, 'mean', options)
  }

  /** Divides the sum of products by the sum of the weights of values. */
  #meanOfProducts(options: ReduceDimsOptions): Labelled {
    const { variable } = this.#array
    const present = { ...this.#array, variable: variable.with({ array: presence(asFloats(variable.array)) }) }
    const values = { ...this.#array, variable: variable.with({ array: asFloats(variable.array).astype('float64') as DiskArray }) }
    const sum = reduceAlong(combineArrays(values, this.#weights, 'mul'), 'sum', options)
    const total = reduceAlong(combineArrays(present, this.#weights, 'mul'), 'sum', { ...options, skipMissing: true })
    const { array, dims } = combineArrays(sum, total, 'div').variable
    return { variable: reducedTo(variable, array, dims), coordinates: sum.coordinates }
  }

  /** Returns the sum of values times weights along some dimensions. */
  sum(options?: ReduceDimsOptions & Whole): W
  sum(options?: ReduceDimsOptions): A
  sum(options: ReduceDimsOptions = {}): A | W {
    return this.#wrap(reduceAlong(combineArrays(this.#array, this.#weights, 'mul'), 'sum', options), 'sum', options)
  }
}

function complete(weights: Labelled): Labelled {
  const { variable } = weights
  const { array } = variable
  const compute = async (signal: Signal) => (await import('./weights.ts')).completeWeights(variable, signal)
  return { ...weights, variable: variable.with({ array: computedOnce([array], array.dtype, array.shape, compute) }) }
}
