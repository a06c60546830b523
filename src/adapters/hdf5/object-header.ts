import { HyperslabError } from '../../core/errors.ts'
import { type Cursor, damaged, refuse } from './cursor.ts'
import { type FileBytes, Walk } from './file-bytes.ts'
import { LIMITS } from './limits.ts'
import { checkSum } from './lookup3.ts'

/** Types of messages that are read. */
export const MESSAGE = {
  dataspace: 0x01,
  linkInfo: 0x02,
  datatype: 0x03,
  oldFill: 0x04,
  fill: 0x05,
  link: 0x06,
  externalFiles: 0x07,
  layout: 0x08,
  groupInfo: 0x0a,
  filters: 0x0b,
  attribute: 0x0c,
  sharedTable: 0x0f,
  continuation: 0x10,
  symbolTable: 0x11,
  driver: 0x14,
  attributeInfo: 0x15,
  cacheImage: 0x18,
} as const

/** Highest type of a message that the specification has. */
const LAST_TYPE = 0x18

/** A message of an object header. */
export interface Message {
  readonly type: number
  readonly flags: number
  readonly data: Cursor
}

/** Messages of an object header, in their order. */
export interface ObjectHeader {
  readonly address: number
  readonly messages: readonly Message[]
}

/** Whether the message is stored elsewhere, and its data say where. */
export const isShared = ({ flags }: Pick<Message, 'flags'>): boolean => (flags & 2) !== 0

export const findMessage = ({ messages }: ObjectHeader, type: number): Message | undefined =>
  messages.find((each) => each.type === type)

/**
 * Reads an object header of version 1 or 2, with its continuations.
 * @throws FormatError, IntegrityError if it is damaged
 */
export async function readObjectHeader(file: FileBytes, address: number): Promise<ObjectHeader> {
  const start = await file.cursorUpTo(address, 64)
  const isNew = start.left >= 4 && String.fromCharCode(...start.bytes.subarray(0, 4)) === 'OHDR'
  const messages = isNew ? await readNew(file, address, start) : await readOld(file, address, start)
  for (const { type, flags } of messages)
    if (type > LAST_TYPE && (flags & 0x80) !== 0)
      refuse(`the object has a message of type ${type}, which readers have to understand`, type)
  return { address, messages }
}

/** Reads a header of version 1: blocks of messages, aligned to 8 bytes. */
async function readOld(file: FileBytes, address: number, start: Cursor): Promise<Message[]> {
  const version = start.u8()
  if (version !== 1) damaged(`an object header of version ${version}`, start.start, version)
  const count = start.skip(1).u16()
  const size = start.skip(4).u32()
  const messages: Message[] = []
  const blocks = [await file.cursor(address + 16, size)]
  const walk = new Walk('blocks of an object header')
  walk.visit(address)
  for (let i = 0; i < blocks.length; i++) {
    const block = blocks[i]!
    while (block.left >= 8 && messages.length < count) {
      const type = block.u16()
      const length = block.u16()
      const flags = block.u8()
      const message = { type, flags, data: block.skip(3).part(length) }
      messages.push(message)
      if (type === MESSAGE.continuation) blocks.push(await continuation(file, message, walk, blocks.length))
    }
  }
  return messages
}

async function readNew(file: FileBytes, address: number, start: Cursor): Promise<Message[]> {
  start.skip(4).version('the object header', [2])
  const flags = start.u8()
  start.skip((flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0))
  const size = start.uint(1 << (flags & 3))
  const whole = await file.cursor(address, start.at + size + 4)
  checkSum(whole.bytes, whole.start, 'the object header')
  const messages: Message[] = []
  const blocks = [whole.skip(start.at).part(size)]
  const walk = new Walk('blocks of an object header')
  walk.visit(address)
  const prefix = flags & 4 ? 6 : 4
  for (let i = 0; i < blocks.length; i++) {
    const block = blocks[i]!
    while (block.left >= prefix) {
      const type = block.u8()
      const length = block.u16()
      const message = { type, flags: block.u8(), data: block.skip(prefix - 4).part(length) }
      messages.push(message)
      if (type !== MESSAGE.continuation) continue
      const next = await continuation(file, message, walk, blocks.length)
      checkSum(next.bytes, next.start, 'the continuation of an object header')
      next.signature('OCHK')
      blocks.push(next.part(next.left - 4))
    }
  }
  return messages
}

async function continuation(file: FileBytes, { data }: Message, walk: Walk, blocks: number): Promise<Cursor> {
  const address = data.definedAddress('the continuation of an object header')
  walk.visit(address)
  if (blocks > LIMITS.headerBlocks) damaged(`an object header has more than ${LIMITS.headerBlocks} blocks`, data.start)
  return file.cursor(address, data.length())
}

/** Location of a message that is stored elsewhere. */
export type SharedPlace =
  | { readonly kind: 'object'; readonly address: number }
  | { readonly kind: 'heap'; readonly id: Uint8Array }

/** Parses the data of a shared message. */
export function parseShared(data: Cursor): SharedPlace {
  const version = data.version('a shared message', [1, 2, 3])
  const type = data.u8()
  if (version === 3 && type === 1) return { kind: 'heap', id: data.slice(8) }
  if (version === 1) data.skip(6)
  return { kind: 'object', address: data.definedAddress('a shared message') }
}

/** @throws FormatError, which names the message that is missing */
export function missingMessage(what: string, { address }: ObjectHeader): never {
  throw new HyperslabError('FormatError', `the object at address ${address} has no ${what}`)
}
