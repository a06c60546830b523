import { damagedTiff, refuseTiff } from './errors.ts'
import { toGdalNumber } from './no-data.ts'

/** Metadata of GDAL: of the image, and of each band by its number from 0. */
export interface GdalMetadata {
  readonly items: ReadonlyMap<string, string>
  readonly bands: ReadonlyMap<number, BandMetadata>
}

/** Metadata of one band. */
export interface BandMetadata {
  readonly scale?: number
  readonly offset?: number
  readonly description?: string
  readonly units?: string
}

const CHARACTERS: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/**
 * Parses the metadata of GDAL, an XML document of items.
 * @throws UnsupportedError for definitions of entities; FormatError for items that are not XML
 */
export function parseGdalMetadata(xml: string): GdalMetadata {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(xml)) refuseTiff('the tag GDAL_METADATA defines XML entities, which are not supported')
  const items = new Map<string, string>()
  const bands = new Map<number, Record<string, unknown>>()
  for (const { attributes, text } of readItems(xml)) {
    const { name = '', sample, role, domain } = attributes
    const key = ROLES[role ?? '']
    if (key !== undefined && sample !== undefined) {
      const band = Number(sample)
      bands.set(band, { ...bands.get(band), [key]: text })
    } else if (sample === undefined && domain === undefined) items.set(name, text)
  }
  return { items, bands: new Map([...bands].map(([band, texts]) => [band, toBand(texts, band, items)])) }
}

/**
 * Returns the metadata of a band. A scale of 0, and one that is no finite number, is not applied, and neither
 * is the offset beside it: both become items of the image.
 */
function toBand({ scale, offset, ...texts }: Record<string, unknown>, band: number, items: Map<string, string>): BandMetadata {
  const numbers = Object.entries({ scale, offset }).flatMap(([role, text]): [string, string, number][] =>
    // GDAL reads an empty scale as 1.
    typeof text === 'string' && text.trim() !== '' ? [[role, text, toGdalNumber(text)]] : [],
  )
  if (numbers.every(([role, , value]) => Number.isFinite(value) && (role === 'offset' || value !== 0)))
    return { ...texts, ...Object.fromEntries(numbers.map(([role, , value]) => [role, value])) }
  for (const [role, text] of numbers) items.set(`${role}_of_band_${band + 1}_not_applied`, text)
  return texts
}

const ROLES: Readonly<Record<string, keyof BandMetadata>> = {
  scale: 'scale',
  offset: 'offset',
  description: 'description',
  unittype: 'units',
}

/** An item of the document. */
interface Item {
  readonly attributes: Partial<Record<string, string>>
  readonly text: string
}

const ITEM = '<Item'

function* readItems(xml: string): Generator<Item> {
  for (let at = xml.indexOf(ITEM); at !== -1; at = xml.indexOf(ITEM, at)) {
    const { attributes, end } = readAttributes(xml, at + ITEM.length)
    const start = end + (xml[end] === '/' ? 2 : 1)
    // An item without content ends with its attributes.
    const stop = xml[end] === '/' ? start : xml.indexOf('<', start)
    if (stop === -1) malformed(at)
    // GDAL escapes texts before it writes them as XML.
    yield { attributes, text: unescaped(unescaped(xml.slice(start, stop)), true) }
    at = stop
  }
}

/**
 * Reads the attributes of an item.
 * @returns attributes by name, and the position of the `/` or `>` behind them
 */
function readAttributes(xml: string, start: number): { attributes: Partial<Record<string, string>>; end: number } {
  const attributes: Partial<Record<string, string>> = {}
  let at = skipSpace(xml, start)
  while (xml[at] !== '>' && xml[at] !== '/') {
    const equals = xml.indexOf('=', at)
    const quote = equals === -1 ? equals : skipSpace(xml, equals + 1)
    const end = xml[quote] === '"' || xml[quote] === "'" ? xml.indexOf(xml[quote], quote + 1) : -1
    if (end === -1) malformed(start)
    attributes[xml.slice(at, equals).trim()] = unescaped(xml.slice(quote + 1, end))
    at = skipSpace(xml, end + 1)
  }
  return { attributes, end: at }
}

function skipSpace(xml: string, at: number): number {
  let end = at
  while (end < xml.length && xml[end]!.trim() === '') end++
  return end
}

const malformed = (at: number): never => damagedTiff(`the tag GDAL_METADATA contains invalid XML at character ${at}`, at)

/** @param isText whether the text is no XML any more, so that other entities are part of it */
const unescaped = (text: string, isText = false): string =>
  text.replace(/&(#x[\da-f]+|#\d+|\w+);/gi, (whole, name: string) => {
    const known = CHARACTERS[name]
    if (known !== undefined || isText) return known ?? whole
    if (!name.startsWith('#')) return damagedTiff(`GDAL's metadata have the entity ${whole}`, whole)
    const code = name[1] === 'x' || name[1] === 'X' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
    return code <= 0x10ffff ? String.fromCodePoint(code) : damagedTiff(`GDAL's metadata have the character ${whole}`, whole)
  })
