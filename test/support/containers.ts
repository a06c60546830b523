import { ArrayFile } from '../../src/af/file.ts'
import { chunkTable } from '../../src/af/format/encode.ts'
import type { AfDType, ArrayMeta, Footer } from '../../src/af/format/footer.ts'
import { isIdentity } from '../../src/af/format/identity.ts'
import type { CreateOptions } from '../../src/af/layers/file-options.ts'
import { Paths } from '../../src/af/layers/paths.ts'
import { withDefaults } from '../../src/af/settings.ts'
import { publishEmpty } from '../../src/af/write/commit.ts'
import { newPacker } from '../../src/af/write/container-files.ts'
import type { Store } from '../../src/store/store.ts'

/**
 * Creates a container whose base takes layers from the start, as other programs do: the first flush is layer
 * 1. That of one made by `create` takes the place of the base.
 */
export async function createWithBase(
  { store, path }: { readonly store: Store; readonly path: string },
  options: CreateOptions = {},
): Promise<ArrayFile> {
  const files = { store, paths: new Paths(path), options: await withDefaults(options) }
  const place = { number: 0, base: path }
  const condition = { ifAbsent: true }
  await publishEmpty(store, path, place, { kind: 'base' }, newPacker(files), { ...files.options, condition })
  return ArrayFile.open(store, path, options)
}

/** An array of one chunk at most, and no attributes, as a footer has it. */
export const metaOf = (name: string, dtype: AfDType, shape: readonly number[], more: Partial<ArrayMeta> = {}): ArrayMeta => ({
  name,
  dtype,
  shape: [...shape],
  dimensionNames: shape.map((_, axis) => `d${axis}`),
  chunkShape: [...shape],
  chunks: chunkTable(shape.length),
  fillValue: null,
  deleted: false,
  attributes: { width: 16, keys: [], values: [] },
  ...more,
})

/**
 * The footer of some arrays, as another program writes it. Of such without blocks, `encodeFooterFile` makes a
 * whole file.
 */
export const footerOf = (arrays: readonly ArrayMeta[], more: Partial<Footer> = {}): Footer => ({
  version: 5,
  blocks: [],
  arrays: [...arrays],
  attributeKeys: [],
  attributeValues: [],
  overlayIndex: 0,
  baseFileHint: '',
  ...more,
})

/** The empty blocks that tell what a file is, for `seal`. */
export const marksOf = ({ blocks }: Footer): string[] =>
  blocks.flatMap(({ codec }) => (codec !== null && isIdentity(codec) ? [codec] : []))
