import { HyperslabError } from '../core/errors.ts'
import type { ArrayNode, GroupNode } from './nodes.ts'

/** The content of a file of a format that has no groups. */
export interface FlatFile extends Pick<GroupNode, 'title' | 'attrs'> {
  /** Name of the file in messages. */
  readonly label: string
  /** Names of the arrays that can be read. */
  names(): readonly string[]
  /** @throws UnknownArrayError */
  array(name: string): Omit<ArrayNode, 'kind' | 'path' | 'name' | 'title' | 'isCharacter'>
  /** Names of the other arrays, with reasons. */
  unreadable?(): ReadonlyMap<string, HyperslabError>
}

/** The root of a tree of a format that has no groups. Names of arrays may contain slashes. */
export const flatGroup = ({ label, title, attrs, ...file }: FlatFile): GroupNode => ({
  kind: 'group',
  path: '',
  name: '',
  title,
  attrs,
  hasGroups: false,
  arrays: async () => [...file.names()],
  groups: async () => [],
  unreadable: async () => file.unreadable?.() ?? new Map(),
  array: async (name) => ({ kind: 'array', path: name, name, title, isCharacter: false, ...file.array(name) }),
  group: async (path) => {
    throw new HyperslabError('InvalidArgumentError', 'only Zarr stores, HDF5 and TIFF files have groups to open', {
      file: label,
      actual: path,
    })
  },
  levels: async () => [],
})
