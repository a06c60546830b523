import { isHyperslabError } from '../../core/errors.ts'

/** A problem. `text` describes it in a sentence. */
export interface Finding {
  /**
   * `'error'`: reads may fail or return wrong values, here or in other programs. `'warning'`: something is
   * uncertain, or was left behind.
   */
  readonly severity: 'error' | 'warning'
  /** The file, as messages name it. */
  readonly file: string
  /** Id of the block. */
  readonly block?: number | undefined
  /** Name of the array, if the finding concerns one. */
  readonly array?: string | undefined
  readonly text: string
}

/** Counts of checked items: `blocks`, `chunks` and more. */
export interface VerifiedCounts {
  /** Files that could be parsed, without the statistics file. */
  layers: number
  /** Arrays that exist. */
  arrays: number
  blocks: number
  /** Blocks without a checksum in their file. Changed bytes in them are found only if they do not decode. */
  blocksWithoutChecksum: number
  /** Bytes of the blocks, as stored. */
  bytes: number
  chunks: number
  /** Chunks whose statistics were compared with their elements. */
  chunkStatistics: number
  /** Arrays whose statistics were compared with their elements. */
  arrayStatistics: number
}

/** Place of a finding. */
export type FindingPlace = Pick<Finding, 'file' | 'block' | 'array'>

/** Further findings are only counted, because a file with damage everywhere must not fill the memory. */
const MAX_FINDINGS = 1000

/** Collects findings. */
export class Report {
  readonly findings: Finding[] = []
  omitted = 0
  errors = 0
  readonly checked: VerifiedCounts = {
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

  /** Reports an error that means damage. Throws other errors, such as those of a store or an abort. */
  take(place: FindingPlace, error: unknown, more = ''): void {
    if (!isHyperslabError(error, 'FormatError', 'UnsupportedError', 'IntegrityError', 'CodecError')) throw error
    const { file, array } = error.details
    let text = error.message
    // The finding has these parts as fields.
    for (const part of [file, array === undefined ? undefined : `array '${array}'`])
      if (part !== undefined && text.startsWith(`${part}: `)) text = text.slice(part.length + 2)
    this.error({ ...(array === undefined ? {} : { array }), ...place }, text + more)
  }

  #add(finding: Finding): void {
    if (this.findings.length < MAX_FINDINGS) this.findings.push(finding)
    else this.omitted++
  }
}
