import { isHyperslabError } from '../../core/errors.ts'

/** Something that is not as it should be: `text` says what, in a sentence. */
export interface Finding {
  /**
   * `'error'`: something is wrong and may read wrongly, or not at all, here or elsewhere. `'warning'`:
   * uncertain, or left behind.
   */
  readonly severity: 'error' | 'warning'
  /** The file, as messages name it. */
  readonly file: string
  /** Id of the block. */
  readonly block?: number | undefined
  /** Name of the array, where it is one. */
  readonly array?: string | undefined
  readonly text: string
}

/** The things that were looked at: `blocks`, `chunks` and more. */
export interface Checked {
  /** Files that could be taken apart, that of the statistics not counted. */
  layers: number
  /** Arrays that exist. */
  arrays: number
  blocks: number
  /** Blocks whose file has no checksum for them: changed bytes show only where they do not decode. */
  blocksWithoutChecksum: number
  /** Bytes of the blocks, as stored. */
  bytes: number
  chunks: number
  /** Chunks whose statistics were compared with their elements. */
  chunkStatistics: number
  /** Arrays whose statistics were compared with their elements. */
  arrayStatistics: number
}

/** The place of a finding. */
export type FindingPlace = Pick<Finding, 'file' | 'block' | 'array'>

/** More findings are counted only: a file damaged all over must not fill the memory. */
const MAX_FINDINGS = 1000

/** Collects what is found. */
export class Report {
  readonly findings: Finding[] = []
  omitted = 0
  errors = 0
  readonly checked: Checked = {
    layers: 0,
    arrays: 0,
    blocks: 0,
    blocksWithoutChecksum: 0,
    bytes: 0,
    chunks: 0,
    chunkStatistics: 0,
    arrayStatistics: 0,
  }

  error(place: FindingPlace, text: string): void {
    this.errors++
    this.#add({ severity: 'error', ...place, text })
  }

  warn(place: FindingPlace, text: string): void {
    this.#add({ severity: 'warning', ...place, text })
  }

  /** Takes in an error that means damage; others, those of a store or an abort, are thrown. */
  take(place: FindingPlace, error: unknown, more = ''): void {
    if (!isHyperslabError(error, 'FormatError', 'UnsupportedError', 'IntegrityError', 'CodecError')) throw error
    const { file, array } = error.details
    let text = error.message
    // The finding has them as fields.
    for (const part of [file, array === undefined ? undefined : `array '${array}'`])
      if (part !== undefined && text.startsWith(`${part}: `)) text = text.slice(part.length + 2)
    this.error({ ...(array === undefined ? {} : { array }), ...place }, text + more)
  }

  #add(finding: Finding): void {
    if (this.findings.length < MAX_FINDINGS) this.findings.push(finding)
    else this.omitted++
  }
}
