import { isHyperslabError } from '../../core/errors.ts'
import { decodeVariable, type RawVariable } from '../cf/decode.ts'

/**
 * Returns the reasons why variables that are copied as stored, or some of their attributes, cannot be
 * decoded.
 */
export function decodeWarnings(variables: readonly RawVariable[]): string[] {
  return variables.flatMap((variable) => {
    try {
      return decodeVariable(variable).warnings ?? []
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      return [`'${variable.name}' is copied as it is stored, and cannot be decoded: ${error.message}`]
    }
  })
}
