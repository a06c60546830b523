import { PAIRS } from '../../adapters/zarr/complex-array.ts'
import { withDurationUnit } from '../../adapters/zarr/duration-units.ts'
import type { ZarrArray, ZarrGroup } from '../../adapters/zarr/group.ts'
import { elementsNamed } from '../../adapters/zarr/missing.ts'
import { ZARR_CHECKS, ZARR_LIMIT_CHECKS } from '../../adapters/zarr/open.ts'
import type { AttributeValue } from '../../af/format/footer.ts'
import type { DiskArray } from '../../array/disk-array.ts'
import { type Element, missingElements } from '../../array/missing.ts'
import { nodesBelow } from '../../array/walk.ts'
import { copyToContainer } from '../../copy/copy.ts'
import {
  IMPORT_CHECKS,
  type ImportOptions,
  type ImportResult,
  type ImportSource,
  type SourceArray,
} from '../../copy/import-arrays.ts'
import { attributeOfJson, textOfJson } from '../../copy/json-attributes.ts'
import { isFloat as isFloatType, isNumeric } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { withoutSlashes } from '../../core/text.ts'
import type { Location } from '../../tree/location.ts'
import { openZarr, type ZarrLocation, type ZarrOptions } from '../../tree/open-zarr.ts'
import { placeName } from '../../tree/place-names.ts'
import { attributeNumbers, type TypedValues } from '../attributes.ts'
import { ZarrCharacters } from './zarr-characters.ts'

/** Options of `importZarr`. `codecs` read the source, and may also encode the container. */
export interface ImportZarrOptions
  extends ImportOptions,
    Pick<ZarrOptions, 'names' | 'consolidated' | 'limits' | 'resolve' | 'notFound'> {}

/** Result of `importZarr`. */
export interface ZarrImportResult extends ImportResult {}

const CHECKS: Checks<ImportZarrOptions> = {
  ...IMPORT_CHECKS,
  names: ZARR_CHECKS.names,
  consolidated: ZARR_CHECKS.consolidated,
  limits: ZARR_CHECKS.limits,
  resolve: 'function',
  notFound: 'list of integers',
}

/** See `importZarr` of hyperslab/zarr. */
export async function importStore(source: ZarrLocation, target: Location, options: ImportZarrOptions): Promise<ZarrImportResult> {
  checkOptions('importZarr', options, CHECKS)
  checkOptions('limits', options.limits, ZARR_LIMIT_CHECKS)
  const { names, consolidated, limits, resolve, notFound, codecs, signal, variables } = options
  const open = async (): Promise<ImportSource> => {
    const root = await openZarr(source, { names, consolidated, limits, resolve, notFound, codecs, signal })
    try {
      const own = placeName(source)
      const { groups, arrays } = variables === undefined ? await chooseWhole(root) : await chooseVariables(root, variables, own)
      const characters = new ZarrCharacters(root)
      const copied: SourceArray[] = []
      for (const array of arrays) copied.push(sourceOf(array, await characters.array(array), array.path || own))
      return {
        ...groupAttributes(groups),
        arrays: copied,
        dimensions: [...new Set(copied.flatMap(({ dimensionNames }) => dimensionNames))],
        [Symbol.asyncDispose]: () => root.close(),
      }
    } catch (error) {
      await root.close()
      throw error
    }
  }
  return copyToContainer('importZarr', open, target, options)
}

type Chosen = { readonly groups: readonly ZarrGroup[]; readonly arrays: readonly ZarrArray[] }

/** @throws the reason why an array cannot be read */
async function chooseWhole(root: ZarrGroup | ZarrArray): Promise<Chosen> {
  const tree = await nodesBelow<ZarrArray, ZarrGroup>(root)
  for (const [array, { tag, message, details }] of tree.unreadable) {
    const more = tree.unreadable.size > 1 ? `; ${tree.unreadable.size - 1} more cannot be read` : ''
    const text = `'${array}' cannot be copied: ${message}${more}; name the arrays to copy as variables`
    throw new HyperslabError(tag, text, { actual: details.actual, expected: details.expected })
  }
  return tree
}

/** Returns arrays by their paths, without duplicates, and the groups that contain them. */
async function chooseVariables(root: ZarrGroup | ZarrArray, variables: readonly string[], own: string): Promise<Chosen> {
  if (root.kind === 'array') {
    const other = variables.find((name) => name !== own)
    if (other === undefined) return { groups: [], arrays: [root] }
    const text = `there is no such array; the only one is '${own}'`
    throw new HyperslabError('UnknownArrayError', text, { array: other, actual: other, expected: [own] })
  }
  const paths = [...new Set(variables.map((name) => withoutSlashes(name)))]
  const arrays: ZarrArray[] = []
  for (const path of paths) arrays.push(await root.array(path))
  const above = new Set(
    paths.flatMap((path) => path.split('/').map((_, i, parts) => parts.slice(0, i).join('/'))).filter((path) => path !== ''),
  )
  const groups = [root]
  for (const path of above) groups.push(await root.group(path))
  return { groups, arrays }
}

function sourceOf(stored: ZarrArray, array: DiskArray, name: string): SourceArray {
  return {
    name,
    array,
    dimensionNames: array.shape.map((_, axis) => array.dimensionNames?.[axis] || `dim_${axis}`),
    attributes: (fill) => walkAttributes(stored, fill),
  }
}

/** Attributes that describe only the layout of a store. */
const LAYOUT = /^(_ARRAY_DIMENSIONS|_NCProperties|_(NCZARR|nczarr)_.*)$/

function* typed(attrs: TypedValues): Generator<[string, AttributeValue]> {
  for (const name of attrs.keys())
    if (!LAYOUT.test(name))
      yield [name, attributeOfJson(attrs.get(name), attrs.isFloat?.(name) === true) ?? textOfJson(attrs.get(name))]
}

const wholeNumbers = (list: readonly number[], given: unknown): AttributeValue =>
  Array.isArray(given) ? { type: 'int64[]', value: BigInt64Array.from(list, BigInt) } : { type: 'int64', value: BigInt(list[0]!) }

/**
 * Returns the attributes of the copy. An attribute of missing values names their value in the copy, if all
 * elements that it names got this value. Otherwise, it stays as it is.
 */
function* walkAttributes(array: ZarrArray, fill: Element | undefined): Generator<[string, AttributeValue]> {
  const { attrs, dtype, metadata } = array
  for (const [name, value] of typed(withDurationUnit(attrs, metadata.type))) {
    // As attributes of floats, pairs would name missing parts.
    if (metadata.type.element?.isComplex && PAIRS.includes(name)) continue
    // Ranges of integers bound packed values. Ranges of floats may bound unpacked ones.
    const list = attributeNumbers({ [name]: attrs.get(name) }, name)
    const isWhole = name.startsWith('valid_') && list?.every(Number.isSafeInteger) && !(attrs as TypedValues).isFloat?.(name)
    if (isWhole && !isFloatType(dtype)) yield [name, wholeNumbers(list as number[], attrs.get(name))]
    else if (fill !== undefined && isNumeric(dtype) && isConverted(name, array))
      yield [name, { type: dtype, value: fill } as AttributeValue]
    else yield [name, value]
  }
}

/** Whether an attribute names missing elements, all of which the copy stores as one value. */
function isConverted(name: string, { metadata, source }: ZarrArray): boolean {
  if (name !== '_FillValue' && name !== 'missing_value') return false
  const { values, nan } = missingElements(source)
  const named = elementsNamed(name, metadata.attrs, metadata.type)
  return named.every((each) => each !== undefined && (Number.isNaN(each) ? nan : values.includes(each as Element)))
}

/** Attributes of groups below become attributes of the container, named by their paths. */
function groupAttributes(groups: readonly ZarrGroup[]): Pick<ImportSource, 'attributes' | 'warnings'> {
  const attributes = new Map<string, AttributeValue>()
  const warnings: string[] = []
  for (const { path, attrs } of groups)
    for (const [name, value] of typed(attrs)) {
      const key = path === '' ? name : `${path}/${name}`
      if (attributes.has(key)) warnings.push(`the attribute '${name}' of group '${path}' is left out: there is another '${key}'`)
      else attributes.set(key, value)
    }
  return { attributes, warnings }
}
