import type { SharedUploads } from '../store.ts'
import type { S3Conditions } from './conditions.ts'
import { MAX_PARTS, type S3Writer } from './writer.ts'

const MIN_PART_BYTES = 5 * 2 ** 20

/** Creates the interface through which several processes share multipart uploads. */
export const sharedUploads = (writer: S3Writer, conditions: S3Conditions): SharedUploads => ({
  minPartBytes: MIN_PART_BYTES,
  maxParts: MAX_PARTS,
  check: (near) => conditions.checkParts(near),
  begin: (key, mark, { signal } = {}) => writer.beginUpload(key, mark, signal),
  put: (key, id, number, bytes, { signal } = {}) => writer.uploadPart(key, id, number, bytes, signal),
  open: (prefix, { signal } = {}) => writer.openUploads(prefix, signal),
  complete: (key, mark, upload, { signal } = {}) => writer.completeUpload(key, mark, upload, { ifAbsent: true, signal }),
  abort: (key, id) => writer.abortUpload(key, id),
})
