import { HyperslabError } from '../core/errors.ts'
import type { ContainerParts } from '../runtime/container-parts.ts'
import type { ZarrExport } from '../runtime/export-zarr.ts'
import type { ZarrParts } from '../runtime/zarr-parts.ts'
import type { Location } from '../tree/location.ts'
import type { CopyPlan } from './copy-plan.ts'
import { openCopySource } from './copy-source.ts'
import type { CopySettings } from './job-operation.ts'
import type { OpenRecipeOptions } from './open-recipe.ts'
import { Pins } from './pins.ts'
import { ANY_PLACE } from './places.ts'
import { checkSource } from './plan-parts.ts'

/** A copy with its source and target opened as planned. */
export interface OpenedCopy<P> {
  readonly parts: P
  readonly pins: Pins
  /** Closes both. */
  close(): Promise<void>
}

/**
 * @param open opens the target
 * @throws ConflictError if source or target are not the planned ones; errors of opening them
 */
export async function openPlannedCopy<P extends ZarrParts | ContainerParts>(
  { operation, pins: versions, arrays, metadata }: CopyPlan,
  options: OpenRecipeOptions,
  open: (target: Location, source: ZarrExport, settings: CopySettings) => Promise<P>,
): Promise<OpenedCopy<P>> {
  const pins = new Pins(versions, options.places)
  const { source, close } = await openCopySource(operation, pins, options)
  let parts: P | undefined
  const closeBoth = async (): Promise<void> => {
    await parts?.[Symbol.asyncDispose]()
    await close()
  }
  try {
    pins.seen()
    parts = await open(await (options.places ?? ANY_PLACE).resolve(operation.target), source, operation.options ?? {})
    for (const { name, array } of parts.arrays) if (Object.hasOwn(arrays, name)) await checkSource(array, arrays[name]!)
    const found = await parts.metadataHash()
    const names = parts.arrays.map(({ name }) => name)
    if (found !== metadata || names.some((name) => !Object.hasOwn(arrays, name)) || names.length !== Object.keys(arrays).length)
      throw new HyperslabError('ConflictError', 'the target would get other metadata than were planned; plan the job again', {
        file: operation.target,
        actual: found,
        expected: metadata,
      })
    return { parts, pins, close: closeBoth }
  } catch (error) {
    await closeBoth()
    throw error
  }
}
