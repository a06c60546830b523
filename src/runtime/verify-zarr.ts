import { ZARR_CHECKS } from '../adapters/zarr/open.ts'
import { VERIFY_CHECKS, type VerifyNodeOptions, verifyNode, type ZarrVerification } from '../adapters/zarr/verify.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { openZarr, type ZarrLocation, type ZarrOptions } from '../tree/open-zarr.ts'
import { labelOf } from '../tree/place-names.ts'

/** Options of `verifyZarr`: those for opening the store, and `onProgress`. */
export interface VerifyZarrOptions
  extends VerifyNodeOptions,
    Pick<ZarrOptions, 'kind' | 'names' | 'consolidated' | 'codecs' | 'limits' | 'resolve' | 'notFound'> {}

const CHECKS: Checks<VerifyZarrOptions> = {
  kind: ZARR_CHECKS.kind,
  names: ZARR_CHECKS.names,
  consolidated: ZARR_CHECKS.consolidated,
  codecs: ZARR_CHECKS.codecs,
  limits: ZARR_CHECKS.limits,
  resolve: 'function',
  notFound: 'list of integers',
  ...VERIFY_CHECKS,
}

/** See `verifyZarr` of hyperslab/zarr. */
export async function verifyLocation(location: ZarrLocation, options: VerifyZarrOptions): Promise<ZarrVerification> {
  checkOptions('verifyZarr', options, CHECKS)
  const { onProgress, signal, ...opening } = options
  return verifyNode(labelOf(location), (apart) => openZarr(location, { ...opening, ...apart, signal }), { onProgress, signal })
}
