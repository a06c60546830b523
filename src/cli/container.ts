import { Option } from 'commander'
import { type ArrayFile, open } from '../runtime/index.ts'
import { oneLine } from './failure.ts'
import { integerBetween } from './options.ts'
import { printError } from './output.ts'

/** For commands that read: which state of the container. */
export interface LayerOption {
  readonly layer?: number
}

export const layerOption = () =>
  new Option('--layer <number>', 'read the state that this layer left (0 for the base)').argParser(integerBetween(0, 999_999_999))

/** Opens a container for reading and says on standard error what its files leave uncertain. */
export async function openContainer(path: string, { layer }: LayerOption): Promise<ArrayFile> {
  const file = await open(path, layer === undefined ? {} : { layer })
  for (const warning of file.warnings()) printError(`warning: ${oneLine(warning)}`)
  return file
}
