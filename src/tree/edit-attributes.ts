import { openNode } from '../adapters/zarr/open.ts'
import { ArrayFile } from '../af/file.ts'
import type { TypedAttribute } from '../af/layers/attributes.ts'
import { parseJson } from '../core/json.ts'
import type { StoredAt } from '../store/store.ts'
import type { AttributeEditor, EditAttributesOptions } from './attribute-editor.ts'

/** Opens attributes of a container for changes. */
export async function editContainer({ store, path }: StoredAt, { array }: EditAttributesOptions): Promise<AttributeEditor> {
  const file = await ArrayFile.open(store, path)
  const { attrs } = array === undefined ? file : file.array(array)
  return {
    names: () => [...attrs.keys()],
    typeOf: (name) => attrs.typed(name)?.type,
    set: (name, { type, value }) => attrs.set(name, type === 'string' ? value : ({ type, value } as TypedAttribute)),
    delete: (name) => void attrs.delete(name),
    save: () => file.flush(),
    [Symbol.asyncDispose]: () => file.close(),
  }
}

/** Opens attributes of a Zarr store for changes. */
export async function editZarr(
  { store, path: own }: StoredAt,
  { array, group, names }: EditAttributesOptions,
): Promise<AttributeEditor> {
  const root = await openNode(store, own, { mode: 'r+', ...(names && { names }) })
  const path = [group, array].filter((part) => part !== undefined).join('/')
  const node = root.kind === 'array' || path === '' ? root : await (array === undefined ? root.group(path) : root.array(path))
  const values: [string, unknown][] = []
  return {
    names: () => [...node.attrs.keys()],
    typeOf: (name) => (node.attrs.has(name) ? typeOfJson(node.attrs.get(name)) : undefined),
    set: (name, { type, value }) => void values.push([name, type === 'json' ? parseJson(value, `attribute '${name}'`) : value]),
    delete: (name) => void values.push([name, undefined]),
    save: () => node.updateAttributes(Object.fromEntries(values)),
    [Symbol.asyncDispose]: () => root.close(),
  }
}

const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'bigint'

/** Returns the type of a JSON value, which a new value keeps. */
function typeOfJson(value: unknown): string {
  if (typeof value === 'string') return 'string'
  return isNumber(value) || (Array.isArray(value) && value.length > 0 && value.every(isNumber)) ? 'float64' : 'json'
}
