import { ZARR_CHECKS } from '../adapters/zarr/open.ts'
import type { VerifyNodeOptions, ZarrVerification } from '../adapters/zarr/verify.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { openZarr, type ZarrLocation, type ZarrOptions } from './open-zarr.ts'
import { labelOf } from './place-names.ts'

/** Options of `verifyZarr`: those for opening the store, and `onProgress`. */
export interface VerifyZarrOptions
  extends VerifyNodeOptions,
    Pick<ZarrOptions, 'kind' | 'names' | 'consolidated' | 'codecs' | 'limits' | 'resolve' | 'notFound'> {}

const CHECKS: Checks<Omit<VerifyZarrOptions, keyof VerifyNodeOptions>> = {
  kind: ZARR_CHECKS.kind,
  names: ZARR_CHECKS.names,
  consolidated: ZARR_CHECKS.consolidated,
  codecs: ZARR_CHECKS.codecs,
  limits: ZARR_CHECKS.limits,
  resolve: 'function',
  notFound: 'list of integers',
}

/**
 * Checks a Zarr store, even if it does not open: the metadata of all nodes at and below the location,
 * consolidated metadata against those of each node, and every stored chunk, which is read and decoded once,
 * with its checksums. Has as many chunks in memory as reads have. If the location can be listed, also reports
 * objects among the chunks that are not chunks.
 * @throws NotFoundError if there is neither a group nor an array; UnsupportedError if the nodes in a group
 *   cannot be listed; ConflictError if a shard is replaced meanwhile; errors of the store
 * @example
 * const { ok, checked } = await verifyZarr('small.zarr')
 * console.log(ok, checked.arrays) // true 4
 */
export async function verifyZarr(location: ZarrLocation, options: VerifyZarrOptions = {}): Promise<ZarrVerification> {
  const { VERIFY_CHECKS, verifyNode } = await import('../adapters/zarr/verify.ts')
  checkOptions('verifyZarr', options, { ...CHECKS, ...VERIFY_CHECKS })
  const { onProgress, signal, ...opening } = options
  return verifyNode(labelOf(location), (apart) => openZarr(location, { ...opening, ...apart, signal }), { onProgress, signal })
}
