import { HyperslabError } from '../../core/errors.ts'
import type { RequestContext } from './context.ts'

const FORBIDDEN = 'if the server says so of what does not exist, pass `notFound: [403, 404, 410]`'

export function statusError(status: number, { file, forbidden = FORBIDDEN }: RequestContext): HyperslabError {
  const hint = status === 403 ? `: access is refused; ${forbidden}` : ''
  return new HyperslabError('StoreError', `the server answered ${status}${hint}`, { file, actual: status })
}
