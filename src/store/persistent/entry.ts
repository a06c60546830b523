import { joinBytes } from '../../core/bytes.ts'
import { sha256 } from '../../core/sha256.ts'

/** First word of every entry. Its number changes when the layout changes. */
const MAGIC = 'hyperslab-cache-1'

/** Size of the header in bytes: first word, name, SHA-256 of the content, and a line feed. */
const HEADER_BYTES = MAGIC.length + 2 * (1 + 64) + 1

const createHeader = async (name: string, content: Uint8Array): Promise<string> => `${MAGIC} ${name} ${await sha256(content)}\n`

/** Returns the stored form of an entry: a header with its name and a checksum, then the content. */
export async function wrapEntry(name: string, content: Uint8Array): Promise<Uint8Array> {
  return joinBytes([new TextEncoder().encode(await createHeader(name, content)), content])
}

/** Returns the content of a stored entry; undefined if it is damaged, truncated, or has another name. */
export async function unwrapEntry(name: string, stored: Uint8Array): Promise<Uint8Array | undefined> {
  // Copied into memory of its own, which is aligned for elements of any size.
  const content = new Uint8Array(stored.subarray(HEADER_BYTES))
  const header = new TextDecoder('latin1').decode(stored.subarray(0, HEADER_BYTES))
  return header === (await createHeader(name, content)) ? content : undefined
}
