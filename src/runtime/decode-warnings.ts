import { isHyperslabError } from '../core/errors.ts'
import { decodeVariable, type RawVariable } from '../dataset/cf/decode.ts'

/** Reasons why variables that are copied as they are stored cannot be decoded, or some of their attributes. */
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
