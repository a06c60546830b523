import type { Tensor } from '../../core/tensor.ts'
import { type Box, rangeLength } from '../../grid/range.ts'
import type { VariableLayout } from './layout.ts'

/** No request is longer, unless a single element is. */
export const MAX_REQUEST_BYTES = 8 * 1024 * 1024
/** Bytes that are read and dropped rather than left out: about what a request costs more. */
export const MAX_GAP_BYTES = 64 * 1024

export interface RequestAxis {
  readonly length: number
  /** From one element to the next, in bytes of the file. */
  readonly byteStep: number
  /** From one element to the next, in elements of the output. */
  readonly outStep: number
}

/**
 * One read and where its elements go. Elements lie `axes` apart, the first one at the start of the request.
 */
export interface FileRead {
  /** First byte in the file. */
  readonly start: number
  readonly byteLength: number
  readonly axes: readonly RequestAxis[]
  /** Place of the first element in the output's data. */
  readonly outOffset: number
}

/**
 * The reads that fetch a box, ascending in the file. A read spans gaps of up to {@link MAX_GAP_BYTES}, so
 * that its elements form a smaller box; where the gaps are larger or the span is too long, the box is cut
 * along the outermost axis that helps.
 */
export function* planFileReads(
  { begin, strides, elementBytes }: Pick<VariableLayout, 'begin' | 'strides' | 'elementBytes'>,
  box: Box,
  out: Pick<Tensor, 'stride' | 'offset'>,
): Generator<FileRead> {
  const axes = mergeAxes(box, strides, out.stride)
  const start = box.reduce((sum, range, axis) => sum + range.start * strides[axis]!, begin)

  // Per axis: the bytes from the first to the end of the last element of axes[axis..], and whether their gaps
  // are small and the span short.
  const span = new Array<number>(axes.length + 1).fill(elementBytes)
  const whole = new Array<boolean>(axes.length + 1).fill(true)
  const near = new Array<boolean>(axes.length).fill(true)
  for (let axis = axes.length - 1; axis >= 0; axis--) {
    const { length, byteStep } = axes[axis]!
    span[axis] = (length - 1) * byteStep + span[axis + 1]!
    near[axis] = whole[axis + 1]! && byteStep - span[axis + 1]! <= MAX_GAP_BYTES
    whole[axis] = near[axis]! && span[axis]! <= MAX_REQUEST_BYTES
  }

  function* cut(axis: number, from: number, to: number): Generator<FileRead> {
    if (whole[axis]) {
      yield { start: from, byteLength: span[axis]!, axes: axes.slice(axis), outOffset: to }
      return
    }
    const { length, byteStep, outStep } = axes[axis]!
    const inner = span[axis + 1]!
    const most = near[axis] ? Math.max(1, Math.floor((MAX_REQUEST_BYTES - inner) / byteStep) + 1) : 1
    for (let i = 0; i < length; i += most) {
      const [first, place] = [from + i * byteStep, to + i * outStep]
      const count = Math.min(most, length - i)
      if (count === 1) yield* cut(axis + 1, first, place)
      else {
        const group = { length: count, byteStep, outStep }
        yield {
          start: first,
          byteLength: (count - 1) * byteStep + inner,
          axes: [group, ...axes.slice(axis + 1)],
          outOffset: place,
        }
      }
    }
  }
  yield* cut(0, start, out.offset)
}

/**
 * The axes of a box without those of length 1, neighbours merged where file and output run through both in
 * one step.
 */
function mergeAxes(box: Box, strides: readonly number[], outStrides: readonly number[]): RequestAxis[] {
  const axes: RequestAxis[] = []
  box.forEach((range, axis) => {
    const length = rangeLength(range)
    if (length === 1) return
    const [byteStep, outStep] = [strides[axis]! * range.step, outStrides[axis]!]
    const last = axes.at(-1)
    if (last?.byteStep === byteStep * length && last.outStep === outStep * length) {
      axes[axes.length - 1] = { length: last.length * length, byteStep, outStep }
    } else axes.push({ length, byteStep, outStep })
  })
  return axes
}
