import type { AsyncBuffer } from '../../core/async-buffer.ts'
import { HyperslabError } from '../../core/errors.ts'

/** @throws InvalidArgumentError unless `file` has a size and a `slice` */
export function checkAsyncBuffer(file: AsyncBuffer): void {
  const size: unknown = file?.byteLength
  if (Number.isSafeInteger(size) && (size as number) >= 0 && typeof file.slice === 'function') return
  throw new HyperslabError(
    'InvalidArgumentError',
    `a file needs a byteLength and slice(start, end), got byteLength ${String(size)}`,
    {
      actual: size,
    },
  )
}

/**
 * The bytes `[start, end)`.
 * @throws FormatError when `slice` gives another number of bytes
 */
export async function readBytes(file: AsyncBuffer, start: number, end: number): Promise<Uint8Array> {
  const slice = await file.slice(start, end)
  const bytes = ArrayBuffer.isView(slice) ? slice : new Uint8Array(slice)
  if (bytes.byteLength !== end - start) {
    throw new HyperslabError(
      'FormatError',
      `reading bytes ${start} to ${end} gave ${bytes.byteLength} bytes, not ${end - start}`,
      {
        actual: bytes.byteLength,
        expected: end - start,
      },
    )
  }
  return bytes
}
