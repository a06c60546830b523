import { FORMATS, type Format } from './formats.ts'

/** An option that a format does not take. */
export interface ForeignOption<O extends string = string> {
  readonly name: O
  /** Sentence that refuses it: the option, the formats that it is for, and the format of the place. */
  readonly text: string
}

/**
 * Returns an option that a format does not take; undefined if it takes all.
 * @param optionsOf returns the options that only some formats take, and those of one format
 * @param place name of the place in the sentence
 */
export function findForeign<O extends string>(
  format: Format,
  options: Readonly<Partial<Record<O, unknown>>>,
  optionsOf: (format: Format) => readonly string[] | undefined,
  place = 'this',
): ForeignOption<O> | undefined {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || optionsOf(format)?.includes(name)) continue
    const owners = new Set(FORMATS.filter((each) => optionsOf(each)?.includes(name)).map(({ plural }) => plural))
    if (owners.size > 0)
      return { name: name as O, text: `\`${name}\` is for ${listed([...owners])}, and ${place} is ${format.noun}` }
  }
  return undefined
}

/** Returns words as a list of a sentence: `a`, `a and b`, `a, b and c`. */
const listed = (words: readonly string[]): string =>
  [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((part) => part !== '').join(' and ')
