import { floatsIn, markFloats, withoutMembers } from '../../../core/json.ts'
import { isObject, type JsonObject } from '../document.ts'
import { parseStored } from '../elements.ts'
import type { ComplexDType, StoredType, ZarrArrayMetadata } from '../metadata.ts'
import { replaceAttributes } from '../named-attributes.ts'
import { attributesDocument, checkedEntries, type NewAttributes, withFillOfSign } from './document.ts'
import type { NodeWriter } from './nodes.ts'
import type { Growing } from './resize.ts'
import { checkLayout, checkStored } from './unchanged.ts'

/** Changes attributes of an array, and the properties that follow from them. */
export function updateOfArray({ index, nodes, path }: Growing, attributes: NewAttributes): Promise<void> {
  return nodes.alone(path, async () => {
    const { version, type } = index.metadata
    const dtype = type.element?.isComplex ? (type.element.name as ComplexDType) : type.dtype
    const changed = attributesDocument(given(attributes), dtype, index.metadata.attrs)
    // In version 2, attributes are an object of their own.
    if (version === 2) await checkStored(index, undefined)
    const layout = { check: (stored: JsonObject) => checkLayout(index, stored), type }
    await update(nodes, path, version, changed, removed(attributes), layout)
    const node = await nodes.node(path)
    if (node === undefined || node.kind === 'group') return
    const { attrs, missing, shape } = node.kind === 'array' ? node.metadata : parseStored(node.stored, index.label)
    const metadata: ZarrArrayMetadata = { ...index.metadata, attrs, missing, shape }
    index.change(metadata)
  })
}

/** @param known attributes of the group; they are changed */
export function updateOfGroup(
  nodes: NodeWriter,
  path: string,
  version: 2 | 3,
  attributes: NewAttributes,
  known: Map<string, unknown>,
): Promise<void> {
  return nodes.alone(path, async () => {
    const stored = await update(nodes, path, version, attributesDocument(given(attributes)), removed(attributes))
    replaceAttributes(known, stored)
  })
}

async function update(
  nodes: NodeWriter,
  path: string,
  version: 2 | 3,
  changed: JsonObject,
  gone: readonly string[],
  array?: { check(stored: JsonObject): void; readonly type: StoredType },
): Promise<JsonObject> {
  let attributes: JsonObject = {}
  const merged = (stored: unknown): JsonObject => {
    const known = isObject(stored) ? stored : {}
    const floats = [...[...floatsIn(known)].filter((name) => !(name in changed)), ...floatsIn(changed)]
    attributes = withoutMembers(markFloats({ ...known, ...changed }, floats), (name) => gone.includes(name))
    return attributes
  }
  if (version === 2) await nodes.change(path, '.zattrs', merged)
  else
    await nodes.change(path, 'zarr.json', (stored) => {
      array?.check(stored)
      merged(stored['attributes'])
      if (array !== undefined) attributes = withFillOfSign(attributes, array.type)
      return { ...stored, attributes }
    })
  return attributes
}

const given = (attributes: NewAttributes): NewAttributes =>
  new Map(checkedEntries(attributes).filter(([, value]) => value !== undefined))

const removed = (attributes: NewAttributes): string[] =>
  checkedEntries(attributes).flatMap(([name, value]) => (value === undefined ? [name] : []))
