import type { ZarrExport } from '../runtime/export-zarr.ts'
import { arrayAsStored } from '../runtime/stored-arrays.ts'
import type { CopySource } from './job-operation.ts'
import type { Pins } from './pins.ts'
import { type OpenedRecipe, type OpenRecipeOptions, openPinnedDataset, openRecipe } from './recipe.ts'

/** What a copy writes, with what it takes to close it. */
export interface OpenedCopySource {
  readonly source: ZarrExport
  /** Variables that cannot be decoded, with the reasons: a line each. */
  readonly leftOut: readonly string[]
  close(): Promise<void>
}

/**
 * Opens what is copied: in every process the same.
 * @throws what opening throws
 */
export async function openCopySource(given: CopySource, pins: Pins, options: OpenRecipeOptions): Promise<OpenedCopySource> {
  if ('dataset' in given) {
    const { datasetExport } = await import('../runtime/dataset-export.ts')
    const { variables, ...recipe } = given
    const ds = await openPinnedDataset(recipe, pins, options)
    try {
      const leftOut = [...ds.parts.problems].map(([name, { message }]) => `'${name}' is left out: ${message}`)
      return { source: datasetExport(ds, variables), leftOut, close: () => ds.close() }
    } catch (error) {
      await ds.close()
      throw error
    }
  }
  const { arrays, groups = {} } = given
  const opened: OpenedRecipe[] = []
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((each) => each.close()))
  }
  try {
    for (const recipe of Object.values(arrays)) opened.push(await openRecipe(recipe, pins, options))
    const { '': attributes = {}, ...below } = groups
    const source: ZarrExport = {
      attributes: new Map(Object.entries(attributes)),
      groups: new Map(Object.entries(below).map(([path, each]) => [path, new Map(Object.entries(each))])),
      arrays: Object.keys(arrays).map((name, i) => arrayAsStored(name, opened[i]!.array)),
    }
    return { source, leftOut: [], close }
  } catch (error) {
    await close()
    throw error
  }
}
