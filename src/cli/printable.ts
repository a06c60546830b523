/**
 * What steers terminals or turns text around on screens: C0, DEL and C1 (U+009B begins a sequence as ESC [
 * does), separators of lines and paragraphs, marks, embeddings, overrides and isolates of the bidirectional
 * algorithm.
 */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Text for a line of a terminal: control characters become escapes, which JSON has, too, in its strings. */
export const printable = (text: string): string => text.replace(CONTROLS, escaped)

/** The same for text of several lines. */
export const printableLines = (text: string): string =>
  text.replace(CONTROLS, (character) => (character === '\n' ? character : escaped(character)))

/** Sequences that set colours. */
const COLOURS = new RegExp(`(${String.fromCharCode(27)}\\[[\\d;]*m)`)

/** A line of a picture, which keeps its colours. */
export const printablePicture = (line: string): string =>
  line
    .split(COLOURS)
    .map((part, i) => (i % 2 === 1 ? part : printable(part)))
    .join('')
