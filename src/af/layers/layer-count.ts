import { HyperslabError } from '../../core/errors.ts'
import type { Limits } from '../format/limits.ts'

/** @throws TooLargeError for more sidecars, or a higher number of one, than `limits.layers` */
export function checkLayerCount(count: number, { layers }: Required<Limits>, file: string): void {
  if (count <= layers) return
  const text = `there are more than limits.layers, ${layers}, sidecars; compact the container, or raise the limit`
  throw new HyperslabError('TooLargeError', text, { file, actual: count, expected: layers, limit: 'limits.layers' })
}
