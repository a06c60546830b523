import { VERIFY_CHECKS, type VerifyNodeOptions, verifyNode, type ZarrVerification } from '../adapters/zarr/verify.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { openZarr, type ZarrLocation, type ZarrOptions } from './open-zarr.ts'

/** Options of `verifyZarr`; what it takes to open the store, and `onProgress`. */
export interface VerifyZarrOptions
  extends VerifyNodeOptions,
    Pick<ZarrOptions, 'kind' | 'names' | 'consolidated' | 'codecs' | 'limits' | 'resolve'> {}

const CHECKS: Checks<VerifyZarrOptions> = {
  kind: ['array', 'group'],
  names: 'list',
  consolidated: 'boolean',
  codecs: 'list',
  limits: 'object',
  resolve: 'function',
  ...VERIFY_CHECKS,
}

/** See `verifyZarr` of hyperslab/zarr. */
export async function verifyLocation(location: ZarrLocation, options: VerifyZarrOptions): Promise<ZarrVerification> {
  checkOptions('verifyZarr', options, CHECKS)
  const { onProgress, signal, ...opening } = options
  return verifyNode(nameOf(location), () => openZarr(location, { ...opening, signal }), { onProgress, signal })
}

/** What a report names that does not open. */
function nameOf(location: ZarrLocation): string {
  if (typeof location === 'string') return location
  if ('href' in location) return location.href
  return 'store' in location ? location.store.describe(location.path) : 'the store'
}
