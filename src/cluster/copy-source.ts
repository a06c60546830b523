import { arrayAsStored, arrayForContainer, type ExportedArray, groupAttributes, type ZarrExport } from '../copy/stored-arrays.ts'
import { type CopiedArrays, type CopiedDataset, type CopyOperation, formatOfCopy } from './job-operation.ts'
import { type OpenRecipeOptions, RecipeOpener } from './open-recipe.ts'
import type { Pins } from './pins.ts'

/** The opened source of a copy, with the function that closes it. */
export interface OpenedCopySource {
  readonly source: ZarrExport
  /** Variables that cannot be decoded and attributes that are ignored, with the reasons, one per line. */
  readonly leftOut: readonly string[]
  close(): Promise<void>
}

/**
 * Opens the source of a copy, identically in every process.
 * @throws errors of opening it
 */
export async function openCopySource(
  operation: CopyOperation,
  pins: Pins,
  options: OpenRecipeOptions,
): Promise<OpenedCopySource> {
  const { source } = operation
  const opener = new RecipeOpener(pins, options)
  const close = (): Promise<void> => opener[Symbol.asyncDispose]()
  try {
    return {
      ...(await ('dataset' in source
        ? openWhole(source, opener)
        : openArrays(source, opener, !formatOfCopy(operation).writing.hasGroups))),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

type Opened = Omit<OpenedCopySource, 'close'>

async function openWhole({ variables, ...recipe }: CopiedDataset, opener: RecipeOpener): Promise<Opened> {
  const { datasetExport, collectWarnings } = await import('../dataset/out/export.ts')
  const ds = await opener.openDataset(recipe)
  return { source: await datasetExport(ds, variables), leftOut: collectWarnings(ds.parts) }
}

async function openArrays({ arrays, groups = {} }: CopiedArrays, opener: RecipeOpener, isForContainer: boolean): Promise<Opened> {
  const stored = isForContainer ? arrayForContainer : arrayAsStored
  const opened: ExportedArray[] = []
  for (const [name, recipe] of Object.entries(arrays)) opened.push(stored(name, await opener.open(recipe)))
  const { '': attributes = {}, ...below } = groups
  const source: ZarrExport = {
    attributes: groupAttributes(attributes, ''),
    groups: new Map(Object.entries(below).map(([path, each]) => [path, groupAttributes(each, path)])),
    arrays: opened,
  }
  return { source, leftOut: [] }
}
