import type { DataOf, DType, TypedArray } from '../../core/dtype.ts'
import { eachIndex } from '../../core/shape.ts'
import type { FileRead } from './requests.ts'
import { decodeText } from './text.ts'

/** A row of elements: from `from` in the bytes read to `to` in the output. */
interface Run {
  from: number
  to: number
  readonly length: number
  readonly byteStep: number
  readonly outStep: number
}

/**
 * Puts the elements of a request into the output: numbers swapped from big-endian, characters joined to
 * strings.
 */
export function placeElements(
  dtype: DType,
  elementBytes: number,
  request: FileRead,
  bytes: Uint8Array,
  out: DataOf<DType>,
): void {
  const copy = dtype === 'string' ? textCopier(bytes, elementBytes, out as string[]) : numberCopier(bytes, out as TypedArray)
  const outer = request.axes.slice(0, -1)
  const { length, byteStep, outStep } = request.axes.at(-1) ?? { length: 1, byteStep: 0, outStep: 0 }
  const run: Run = { from: 0, to: 0, length, byteStep, outStep }
  eachIndex(
    outer.map((axis) => axis.length),
    (index) => {
      run.from = 0
      run.to = request.outOffset
      for (let axis = 0; axis < outer.length; axis++) {
        run.from += index[axis]! * outer[axis]!.byteStep
        run.to += index[axis]! * outer[axis]!.outStep
      }
      copy(run)
    },
  )
}

function textCopier(bytes: Uint8Array, width: number, out: string[]): (run: Run) => void {
  return ({ from, to, length, byteStep, outStep }) => {
    for (let i = 0; i < length; i++, from += byteStep, to += outStep) out[to] = decodeText(bytes.subarray(from, from + width))
  }
}

/**
 * Moves bit patterns, not values: NaNs keep theirs. A loop for each size with its own DataView getter, as one
 * shared loop would call the getter through a pointer.
 */
function numberCopier(bytes: Uint8Array, out: TypedArray): (run: Run) => void {
  const input = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { buffer, byteOffset, byteLength } = out
  switch (out.BYTES_PER_ELEMENT) {
    case 1: {
      const output = new Int8Array(buffer, byteOffset, byteLength)
      return ({ from, to, length, byteStep, outStep }) => {
        for (let i = 0; i < length; i++, from += byteStep, to += outStep) output[to] = input.getInt8(from)
      }
    }
    case 2: {
      const output = new Int16Array(buffer, byteOffset, byteLength / 2)
      return ({ from, to, length, byteStep, outStep }) => {
        for (let i = 0; i < length; i++, from += byteStep, to += outStep) output[to] = input.getInt16(from)
      }
    }
    case 4: {
      const output = new Int32Array(buffer, byteOffset, byteLength / 4)
      return ({ from, to, length, byteStep, outStep }) => {
        for (let i = 0; i < length; i++, from += byteStep, to += outStep) output[to] = input.getInt32(from)
      }
    }
    default: {
      // Two words, as BigInts are slow; the low one first on little-endian hosts, all there are.
      const output = new Int32Array(buffer, byteOffset, byteLength / 4)
      return ({ from, to, length, byteStep, outStep }) => {
        for (let i = 0; i < length; i++, from += byteStep, to += outStep) {
          output[2 * to] = input.getInt32(from + 4)
          output[2 * to + 1] = input.getInt32(from)
        }
      }
    }
  }
}
