import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError } from '../../core/errors.ts'
import { member } from '../../core/member.ts'
import { decodeNames } from '../../core/url-names.ts'
import type { HttpAnswer } from '../http/client.ts'
import type { ListPage } from '../listing.ts'
import { Transient } from '../retry.ts'

/**
 * A text that a server sends in answer to one request is no longer; listings of 1000 keys of 1 KiB are a
 * fifth of it.
 */
const MAX_TEXT_BYTES = 16 * 2 ** 20

/**
 * The whole body of an answer, as text.
 * @throws Transient when the connection breaks, or a limit of time passes; StoreError for more than 16 MiB
 */
export async function bodyOf(answer: HttpAnswer): Promise<string> {
  const parts: Uint8Array[] = []
  await answer.receive(MAX_TEXT_BYTES + 1, (bytes) => void parts.push(bytes))
  const { file, received } = answer
  if (received <= MAX_TEXT_BYTES) return new TextDecoder().decode(joinBytes(parts))
  const text = `the answer is longer than ${MAX_TEXT_BYTES} bytes, which no answer of this kind is`
  throw new HyperslabError('StoreError', text, { file, actual: received, expected: MAX_TEXT_BYTES })
}

/**
 * The texts of all elements of a name, in order. What S3 answers has no attributes, comments or CDATA that
 * would matter.
 */
function textsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}(?:\\s[^<>]*)?>([^<]*)</${name}>`, 'g'))].map(([, text]) => unescaped(text!))
}

/** The text of the first element of a name. */
export const textOf = (xml: string, name: string): string | undefined => textsOf(xml, name)[0]

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const unescaped = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (entity, hex, decimal, name) => {
    if (name !== undefined) return member(ENTITIES, name) ?? entity
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    // Numbers beyond Unicode are not characters.
    return point <= 0x10ffff ? String.fromCodePoint(point) : entity
  })

export const escaped = (text: string): string => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)

/** @throws Transient when the answer is not complete */
export function pageOf(xml: string, file: string): ListPage {
  checkComplete(xml, 'ListBucketResult', file)
  const encoded = textOf(xml, 'EncodingType') === 'url'
  const folders = [...xml.matchAll(/<CommonPrefixes>\s*<Prefix>([^<]*)<\/Prefix>/g)].map(([, text]) => unescaped(text!))
  const keys = [...textsOf(xml, 'Key'), ...folders].map((key) => {
    const text = encoded ? decodeNames(key.replace(/\+/g, ' ')) : key
    if (text !== undefined) return text
    throw new HyperslabError('StoreError', `the server lists ${JSON.stringify(key)}, which encodes no text`, {
      file,
      actual: key,
    })
  })
  return { keys, truncated: textOf(xml, 'IsTruncated') === 'true', next: textOf(xml, 'NextContinuationToken') }
}

/** @throws Transient when the answer ends before its last tag, or is an error although its status is 200 */
export function checkComplete(xml: string, root: string, file: string): void {
  if (new RegExp(`</${root}>\\s*$`).test(xml)) return
  const problem = textOf(xml, 'Code') ?? 'with something else, or half of it'
  throw new Transient(new HyperslabError('StoreError', `the server answered 200, but ${problem}`, { file, actual: problem }))
}

/** Codes of answers with statuses below 500 that say: try again. */
const TRANSIENT = ['RequestTimeout', 'SlowDown', 'InternalError', 'Throttling']

/** What an answer means that is not the one hoped for; reads it. */
export async function refusal(answer: HttpAnswer, file: string): Promise<HyperslabError | Transient> {
  const { status, method } = answer
  const xml = method === 'HEAD' ? '' : await bodyOf(answer)
  const code = textOf(xml, 'Code')
  const message = textOf(xml, 'Message')
  const text = `the server answered ${[status, code].filter(Boolean).join(' ')}${message ? `: ${message}` : ''}`
  const forbidden = code === 'AccessDenied' && method !== 'GET'
  const error = new HyperslabError(forbidden ? 'ReadOnlyError' : 'StoreError', text, { file, actual: code ?? status })
  return code !== undefined && TRANSIENT.includes(code) ? new Transient(error) : error
}
