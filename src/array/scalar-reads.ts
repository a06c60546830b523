import { HyperslabError } from '../core/errors.ts'
import type { BlockSource } from './source.ts'

/** Number of reads after which an array with `scalar: 'warn'` warns, once. */
const MOST_READS = 1000

/**
 * Counts a read of a single element, and follows the rule of the array.
 * @throws ScalarReadError, which names the call that reads elements together
 */
export function noteScalarRead(source: BlockSource): void {
  for (let rule = source.scalarReads; rule !== undefined; rule = rule.below) rule.count++
  const { mode, count } = source.scalarReads!
  if (mode === 'refuse')
    throw new HyperslabError('ScalarReadError', `reading single elements is refused here. ${adviceFor(source)}`, source.label)
  if (mode !== 'warn' || count !== MOST_READS) return
  const { file, array } = source.label ?? {}
  const name = [file, array].filter(Boolean).join(', ') || 'an array'
  console.warn(`hyperslab: ${name}: ${count} elements were read one by one. ${adviceFor(source)}`)
}

/** Returns the calls that read elements together. */
function adviceFor({ shape }: BlockSource): string {
  const axes = Math.max(1, shape.length)
  const box = Array.from({ length: axes }, () => 'slice(from, to)').join(', ')
  const point = Array.from({ length: axes }, (_, axis) => 'ijklmnop'[axis] ?? `i${axis}`).join(', ')
  const scattered = axes === 1 ? 'get([[i, …]])' : `get([points([[${point}], …])])`
  return `Read them together: get([${box}]) for neighbours, ${scattered} or get(linear([n, …])) for others, elements() for all`
}
