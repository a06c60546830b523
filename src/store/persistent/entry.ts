import { joinBytes } from '../../core/bytes.ts'
import { sha256 } from '../../core/sha256.ts'

/** First word of every entry; the number changes with the layout. */
const MAGIC = 'hyperslab-cache-1'

/** Bytes before the content: the word, the name and the SHA-256 of the content, and a line feed. */
const HEADER_BYTES = MAGIC.length + 2 * (1 + 64) + 1

const createHeader = async (name: string, content: Uint8Array): Promise<string> => `${MAGIC} ${name} ${await sha256(content)}\n`

/** Returns an entry as it is stored: a header that proves name and content, then the content. */
export async function wrapEntry(name: string, content: Uint8Array): Promise<Uint8Array> {
  return joinBytes([new TextEncoder().encode(await createHeader(name, content)), content])
}

/** Returns the content of a stored entry; undefined if it is damaged, cut off, or of another name. */
export async function unwrapEntry(name: string, stored: Uint8Array): Promise<Uint8Array | undefined> {
  // A copy: memory of its own, aligned for elements of any size.
  const content = new Uint8Array(stored.subarray(HEADER_BYTES))
  const header = new TextDecoder('latin1').decode(stored.subarray(0, HEADER_BYTES))
  return header === (await createHeader(name, content)) ? content : undefined
}
