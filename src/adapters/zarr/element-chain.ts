import type { Step } from '../../codec/chain.ts'
import type { Codec } from '../../codec/codec.ts'
import { sizeOf } from '../../core/shape.ts'
import type { StoredType } from './metadata.ts'
import { type NumberType, numbersIn } from './number-types.ts'
import { valuesStep } from './stored-values.ts'

export type Configuration = Readonly<Record<string, unknown>>

/** Returns the step that decodes a codec; undefined if the codec leaves bytes as they are. */
export type StepMaker = (chain: Chain, configuration: Configuration) => Step | undefined

/** The steps of an array's codecs, and the form of the elements before the next codec encodes them. */
export class Chain {
  /** In the order of decoding. */
  readonly steps: Step[] = []
  shape: readonly number[]
  /** Bytes of an element; undefined for elements of variable length. */
  elementBytes: number | undefined
  /** Bytes of a number within an element. All numbers have the same byte order. */
  wordBytes: number
  /** Type of the elements if they are numbers. */
  numbers: NumberType | undefined
  /** Whether the number of bytes is known before decoding. */
  isSized: boolean
  /** Whether elements have been encoded to bytes. */
  isBytes = false
  /** Whether a codec of the user came before, which may have encoded them to bytes. */
  hasUsers = false

  constructor(type: StoredType, shape: readonly number[]) {
    this.shape = shape
    this.elementBytes = type.bytes
    this.wordBytes = bytesOfWord(type)
    this.numbers = numbersIn(type)
    this.isSized = type.bytes !== undefined
    this.add(valuesStep(type, sizeOf(shape)))
  }

  /** Adds the step of the next codec in the order of encoding. */
  add(step: Step | undefined): void {
    if (step === undefined) return
    this.steps.unshift(step)
    this.isSized &&= step.encodedBytes !== undefined || step.inputBytes !== undefined
  }

  /** Adds the step of a codec of the user. */
  addUsers(codec: Codec): void {
    this.hasUsers = true
    this.add({ name: codec.name, decode: (bytes, decodedBytes) => codec.decode(bytes, decodedBytes ?? Infinity) })
  }

  /** Records that elements are numbers of a type from here on. */
  become(numbers: NumberType): void {
    this.numbers = numbers
    this.elementBytes = numbers.bytes
    this.wordBytes = numbers.bytes
  }
}

/** Returns the bytes of one character of text, of one raw byte, or of a number. */
export function bytesOfWord({ kind, bytes = 1 }: StoredType): number {
  if (kind === 'fixed-text') return 4
  return kind === 'fixed-bytes' || kind === 'raw' ? 1 : bytes
}
