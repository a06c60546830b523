import { isFixed } from '../core/dtype.ts'
import { checkOptions } from '../core/options.ts'
import type { DatasetParts } from './coords.ts'
import { DESCRIBE_CHECKS, type DescribeValuesOptions, describeValues, type ValuesDescription } from './reductions.ts'

/** Describes the variables of a dataset one after another, except text and binaries. */
export async function describeVariables(
  { variables }: Pick<DatasetParts, 'variables'>,
  options: DescribeValuesOptions,
): Promise<Readonly<Record<string, ValuesDescription>>> {
  checkOptions('describe', options, DESCRIBE_CHECKS)
  const found: [string, ValuesDescription][] = []
  for (const [name, variable] of variables)
    if (isFixed(variable.array.dtype)) found.push([name, await describeValues(variable, options)])
  return Object.fromEntries(found)
}
