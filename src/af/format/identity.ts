import { HyperslabError } from '../../core/errors.ts'
import type { BlockMeta } from './footer.ts'

/**
 * - `base`: holds a state of its own; `initial`: a base that was just created, which the first flush replaces
 * - `layer`: changes; `closed`: no changes, and nothing follows it on its base; `void`: counts for nothing,
 *   and its number may be used again
 */
export type FileKind = 'base' | 'initial' | 'layer' | 'closed' | 'void'

const KINDS: readonly string[] = ['base', 'initial', 'layer', 'closed', 'void'] satisfies FileKind[]

/** A layer of another program that a base contains or replaces. */
export interface MergedLayer {
  readonly number: number
  readonly id: string
}

/** What tells one file of a container from all others, ever; see docs/commit-protocol.md. */
export interface Identity {
  readonly id: string
  readonly kind: FileKind
  /** In a layer, the id of the base that it lies on; undefined in files of other programs. */
  readonly base?: string | undefined
  /** In a base. */
  readonly merged?: readonly MergedLayer[]
  /**
   * Indices of arrays in the footer that begin in this file: what the files below have under their names
   * belongs to others.
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

/** The id of a file that carries none, from its length and the CRC-32C of its footer. */
export const foreignId = (bytes: number, footerCrc: number): string => `${bytes}-${footerCrc.toString(16).padStart(8, '0')}`

/**
 * The identity among the blocks of a footer; undefined in files of other programs.
 * @throws FormatError when it is not one
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
