import { ArrayFile } from '../af/file.ts'
import { plainAttrs } from '../dataset/attributes.ts'
import type { DatasetFile } from '../dataset/dataset-file.ts'
import type { Store } from '../store/store.ts'
import { variableOf } from './raw-variable.ts'

/** Opens a container for a dataset. A separate module, so that opening Zarr does not load it. */
export async function containerDataset(store: Store, path: string, options: object): Promise<DatasetFile> {
  const file = await ArrayFile.open(store, path, options)
  const variables = file.arrays().map((name) => variableOf(name, file.array(name) as never))
  return { variables, attrs: plainAttrs(file.attrs), close: () => file.close() }
}
