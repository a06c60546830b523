import type { ZarrArrayMetadata } from './metadata.ts'

/** Whether elements are single bytes, `|S1`, as xarray and kerchunk store characters. */
export const isSingleByte = ({ metadata: { type } }: { readonly metadata: Pick<ZarrArrayMetadata, 'type'> }): boolean =>
  type.kind === 'fixed-bytes' && type.bytes === 1
