import { HyperslabError } from '../../core/errors.ts'
import type { BlockMeta } from './footer.ts'

/**
 * Kind of a file:
 *
 * - `base`: has a state of its own
 * - `initial`: a base that was just created; the first flush replaces it
 * - `layer`: changes
 * - `closed`: no changes; no layer follows it on its base
 * - `void`: ignored; its number may be reused
 */
export type FileKind = 'base' | 'initial' | 'layer' | 'closed' | 'void'

const KINDS: readonly string[] = ['base', 'initial', 'layer', 'closed', 'void'] satisfies FileKind[]

/** A layer of another program that was merged into a base or replaced by it. */
export interface MergedLayer {
  readonly number: number
  readonly id: string
}

/** Identity of a file, which distinguishes it from all other files, ever; see docs/commit-protocol.md. */
export interface Identity {
  readonly id: string
  readonly kind: FileKind
  /** In a layer: id of the base on which it lies. Undefined in files of other programs. */
  readonly base?: string | undefined
  /** Only in a base. */
  readonly merged?: readonly MergedLayer[]
  /**
   * Indices of the arrays that begin in this file. Arrays of the same names in the files below are different
   * arrays.
   */
  readonly redefined?: readonly number[]
}

/*
 * The identity is the codec name of an empty block, because the footer is what every reader has read first,
 * whatever its size:
 *
 *     hyperslab.layer.1 id=… kind=… [base=…] [merged=3:418-9f2c01aa,4:…] [redefined=0,2]
 */
export const IDENTITY_PREFIX = 'hyperslab.layer.1 '

export const isIdentity = (codec: string | null): boolean => codec?.startsWith(IDENTITY_PREFIX) ?? false

/** Returns the id of a file without a stored one, from its length and the CRC-32C of its footer. */
export const foreignId = (bytes: number, footerCrc: number): string => `${bytes}-${footerCrc.toString(16).padStart(8, '0')}`

/**
 * Returns the identity among the blocks of a footer; undefined in files of other programs.
 * @throws FormatError if it is invalid
 */
export function identityIn(blocks: readonly Pick<BlockMeta, 'codec'>[]): Identity | undefined {
  const codec = blocks.find((block) => isIdentity(block.codec))?.codec
  if (codec == null) return undefined
  const fields = new Map(codec.slice(IDENTITY_PREFIX.length).split(' ').map(splitField))
  const id = fields.get('id')
  const kind = fields.get('kind')
  if (!id || kind === undefined || !KINDS.includes(kind)) {
    throw new HyperslabError('FormatError', `the identity of the file cannot be read: ${JSON.stringify(codec)}`, {
      actual: codec,
    })
  }
  return {
    id,
    kind: kind as FileKind,
    base: fields.get('base'),
    merged: list(fields.get('merged')).map((text) => {
      const [number, ...rest] = text.split(':')
      return { number: Number(number), id: rest.join(':') }
    }),
    redefined: list(fields.get('redefined')).map(Number),
  }
}

function splitField(field: string): [string, string] {
  const at = field.indexOf('=')
  return [field.slice(0, at), field.slice(at + 1)]
}

const list = (text: string | undefined): string[] => (text ? text.split(',') : [])
