import { HyperslabError } from '../../core/errors.ts'
import { member } from '../../core/member.ts'
import { isObject, type JsonObject } from './document.ts'

/** Node type of a root during a replacement of its hierarchy. Readers refuse this type. */
const REPLACING = 'hyperslab.replacing'
/** Number of characters of the command that a message shows. */
const SHOWN = 200

/** Claim of a replacement, as the metadata of the root record it. */
export interface ReplacingClaim {
  /** Command that completes the replacement. */
  readonly command: string
  /** Name of the folder with the new objects. */
  readonly draft: string
  /** Text of the replaced `zarr.json`; null if none was there. Omitted if it is too long for a claim. */
  readonly replaced?: string | null
}

/** Returns the metadata of a root during a replacement of its hierarchy. */
export const replacingDocument = (claim: ReplacingClaim): JsonObject => ({ zarr_format: 3, node_type: REPLACING, ...claim })

/** Whether metadata belong to a root whose replacement has not ended. */
export const isReplacing = (metadata: unknown): metadata is JsonObject =>
  isObject(metadata) && member(metadata, 'node_type') === REPLACING

/** @throws ConflictError for the root of a hierarchy whose replacement has not ended */
export function checkNotReplacing(metadata: unknown, file?: string): void {
  if (!isReplacing(metadata)) return
  const command = String(member(metadata, 'command')).slice(0, SHOWN)
  throw new HyperslabError(
    'ConflictError',
    `another store is taking this place, or its writer was killed meanwhile; run the same command once more to complete it: ${command}`,
    file === undefined ? {} : { file },
  )
}
