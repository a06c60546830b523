import { damagedTiff } from './errors.ts'

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

const ITEM = /<Item\b([^>]*?)(?:\/>|>([^<]*)<\/Item\s*>)/g
const ATTRIBUTE = /([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g
const CHARACTERS: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/**
 * Parses the metadata of GDAL, an XML document of items.
 * @throws FormatError for definitions of entities, and for scales and offsets that are no numbers
 */
export function parseGdalMetadata(xml: string): GdalMetadata {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(xml)) damagedTiff("GDAL's metadata define entities, which are not read")
  const items = new Map<string, string>()
  const bands = new Map<number, Record<string, unknown>>()
  for (const [, head, body = ''] of xml.matchAll(ITEM)) {
    const { name = '', sample, role, domain } = readAttributes(head!)
    const text = unescaped(body)
    const key = ROLES[role ?? '']
    if (key !== undefined && sample !== undefined) {
      const band = Number(sample)
      bands.set(band, { ...bands.get(band), [key]: key === 'scale' || key === 'offset' ? toNumber(text, role!) : text })
    } else if (sample === undefined && domain === undefined) items.set(name, text)
  }
  return { items, bands }
}

const ROLES: Readonly<Record<string, keyof BandMetadata>> = {
  scale: 'scale',
  offset: 'offset',
  description: 'description',
  unittype: 'units',
}

function readAttributes(head: string): Partial<Record<string, string>> {
  return Object.fromEntries([...head.matchAll(ATTRIBUTE)].map(([, name, double, single]) => [name, unescaped(double ?? single!)]))
}

const unescaped = (text: string): string =>
  text.replace(/&(#x[\da-f]+|#\d+|\w+);/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return CHARACTERS[name] ?? damagedTiff(`GDAL's metadata have the entity ${whole}`, whole)
    const code = name[1] === 'x' || name[1] === 'X' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
    return code <= 0x10ffff ? String.fromCodePoint(code) : damagedTiff(`GDAL's metadata have the character ${whole}`, whole)
  })

function toNumber(text: string, role: string): number {
  const value = Number(text)
  return text.trim() === '' || Number.isNaN(value) ? damagedTiff(`GDAL's metadata have the ${role} '${text}'`, text) : value
}
