/**
 * Bytes that can be read by range, `byteLength` of them: a file, an object behind HTTP, or an `ArrayBuffer`
 * or `Uint8Array` as they are.
 */
export interface AsyncBuffer {
  readonly byteLength: number
  /** The bytes `[start, end)`, all of them. */
  slice(start: number, end: number): Promise<ArrayBuffer | Uint8Array> | ArrayBuffer | Uint8Array
}
