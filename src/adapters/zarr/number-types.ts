import type { StoredType } from './metadata.ts'

/** Type of numbers, as filters name it in numpy's notation. */
export interface NumberType {
  readonly kind: 'b' | 'i' | 'u' | 'f'
  readonly bytes: 1 | 2 | 4 | 8
  readonly isBigEndian: boolean
}

/** Letters of numpy for the kinds of numbers. */
export const LETTERS: Readonly<Record<string, string>> = { bool: 'b', int: 'i', uint: 'u', float: 'f' }

/** Returns the type that filters see; undefined for elements that are not numbers. */
export function numbersIn({ kind, bytes }: StoredType): NumberType | undefined {
  const letter = LETTERS[kind]
  return letter === undefined ? undefined : ({ kind: letter, bytes, isBigEndian: false } as NumberType)
}
