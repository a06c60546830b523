/**
 * Bytes that can be read by range, `byteLength` of them: a file, an object behind HTTP, or an `ArrayBuffer`
 * or `Uint8Array`.
 */
export interface AsyncBuffer {
  readonly byteLength: number
  /** Returns all bytes of the range `[start, end)`. */
  slice(start: number, end: number): Promise<ArrayBuffer | Uint8Array> | ArrayBuffer | Uint8Array
}
