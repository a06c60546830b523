import { checkArrayKind } from '../../array/source.ts'
import { DTYPES } from '../../core/dtype.ts'
import { within } from '../../core/errors.ts'
import { checkValue } from '../../core/options.ts'
import type { Dataset, VariableTypes } from '../dataset.ts'

/**
 * Checks the types of decoded variables.
 * @throws UnknownArrayError for a name that does not exist; InvalidArgumentError for a variable of another
 *   type
 */
export async function checkVariableTypes(ds: Dataset, types: VariableTypes, file: string | undefined): Promise<void> {
  for (const [name, type] of Object.entries(types))
    await within(file === undefined ? {} : { file }, async () => {
      checkValue('openDataset', `variables.${name}`, type, DTYPES)
      const { dtype, shape } = ds.get(name)
      checkArrayKind({ dtype, shape }, type, undefined, { array: name })
    })
}
