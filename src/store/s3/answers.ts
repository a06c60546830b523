import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError } from '../../core/errors.ts'
import { member } from '../../core/member.ts'
import { decodeNames } from '../../core/url-names.ts'
import type { HttpAnswer } from '../http/client.ts'
import type { ListPage } from '../listing.ts'
import { Transient } from '../retry.ts'

declare function structuredClone<T>(value: T): T

/** Largest text of an answer, in bytes. A listing of 1000 keys of 1 KiB needs a fifth of it. */
const MAX_TEXT_BYTES = 16 * 2 ** 20

/**
 * Reads the whole body of an answer as text.
 * @throws Transient if the connection breaks, or a time limit passes; StoreError for more than 16 MiB
 */
export async function readBody(answer: HttpAnswer): Promise<string> {
  const parts: Uint8Array[] = []
  await answer.receive(MAX_TEXT_BYTES + 1, (bytes) => void parts.push(bytes))
  const { file, received } = answer
  if (received <= MAX_TEXT_BYTES) return new TextDecoder().decode(joinBytes(parts))
  const text = `the answer is longer than ${MAX_TEXT_BYTES} bytes, which no answer of this kind is`
  throw new HyperslabError('StoreError', text, { file, actual: received, expected: MAX_TEXT_BYTES })
}

/**
 * Returns the texts of all elements of a name, in order. Answers of S3 have no relevant attributes, comments
 * or CDATA.
 */
function findTexts(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}(?:\\s[^<>]*)?>([^<]*)</${name}>`, 'g'))].map(([, text]) => unescaped(text!))
}

/** Returns the text of the first element of a name. */
export const textOf = (xml: string, name: string): string | undefined => findTexts(xml, name)[0]

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const unescaped = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (entity, hex, decimal, name) => {
    if (name !== undefined) return member(ENTITIES, name) ?? entity
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    // Numbers beyond Unicode stay as they are.
    return point <= 0x10ffff ? String.fromCodePoint(point) : entity
  })

export const escaped = (text: string): string => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)

/**
 * Parses one page of a listing.
 * @throws Transient if the answer is incomplete
 */
export function parsePage(xml: string, file: string): ListPage {
  checkComplete(xml, 'ListBucketResult', file)
  const encoded = textOf(xml, 'EncodingType') === 'url'
  const folders = [...xml.matchAll(/<CommonPrefixes>\s*<Prefix>([^<]*)<\/Prefix>/g)].map(([, text]) => unescaped(text!))
  const keys = [...findTexts(xml, 'Key'), ...folders].map((key) => {
    const text = encoded ? decodeNames(key.replace(/\+/g, ' ')) : key
    if (text !== undefined) return text
    throw new HyperslabError('StoreError', `the server lists ${JSON.stringify(key)}, which encodes no text`, {
      file,
      actual: key,
    })
  })
  // A part of a string keeps the whole string in memory, so the keys are copied out of the document.
  const copied = structuredClone(keys)
  return { keys: copied, truncated: textOf(xml, 'IsTruncated') === 'true', next: textOf(xml, 'NextContinuationToken') }
}

/**
 * Checks that an answer is complete.
 * @throws Transient if it ends before its last tag, or is an error although its status is 200
 */
export function checkComplete(xml: string, root: string, file: string): void {
  if (new RegExp(`</${root}>\\s*$`).test(xml)) return
  const problem = textOf(xml, 'Code') ?? 'with something else, or half of it'
  throw new Transient(new HyperslabError('StoreError', `the server answered 200, but ${problem}`, { file, actual: problem }))
}

/** Error codes with statuses below 500 after which a request is retried. */
const TRANSIENT = ['RequestTimeout', 'SlowDown', 'InternalError', 'Throttling']

/** Reads an unexpected answer and returns its error. */
export async function refusal(answer: HttpAnswer, file: string): Promise<HyperslabError | Transient> {
  const { status, method } = answer
  const xml = method === 'HEAD' ? '' : await readBody(answer)
  const code = textOf(xml, 'Code')
  const message = textOf(xml, 'Message')
  const text = `the server answered ${[status, code].filter(Boolean).join(' ')}${message ? `: ${message}` : ''}`
  const forbidden = code === 'AccessDenied' && method !== 'GET'
  const error = new HyperslabError(forbidden ? 'ReadOnlyError' : 'StoreError', text, { file, actual: code ?? status })
  return code !== undefined && TRANSIENT.includes(code) ? new Transient(error) : error
}
