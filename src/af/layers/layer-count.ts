import { HyperslabError } from '../../core/errors.ts'
import type { Limits } from '../format/limits.ts'

/** @throws TooLargeError if there are more sidecars than `limits.layers`, or one with a higher number */
export function checkLayerCount(count: number, { layers }: Required<Limits>, file: string): void {
  if (count <= layers) return
  const text = `there are more than \`limits.layers\`, ${layers}, sidecars; compact the container, or raise the limit`
  throw new HyperslabError('TooLargeError', text, { file, actual: count, expected: layers, limit: 'limits.layers' })
}
