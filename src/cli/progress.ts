import type { Progress } from '../array/transfers.ts'

/** What a progress line is written to. */
export interface Terminal {
  readonly isTTY?: boolean
  write(text: string): unknown
}

export interface ProgressLine {
  update(progress: Progress): void
  /** Takes the line away. */
  end(): void
}

const INTERVAL_MS = 100
const ERASE = '\r\x1b[K'

/** One line that is rewritten while work goes on, of `noun` done; nothing at all where no one watches. */
export function progressLine(
  label: string,
  noun: string,
  terminal: Terminal = process.stderr,
  now: () => number = () => performance.now(),
): ProgressLine {
  if (!terminal.isTTY) return { update: () => undefined, end: () => undefined }
  const start = now()
  let shown = Number.NEGATIVE_INFINITY
  return {
    update({ done, total }) {
      const time = now()
      if (time - shown < INTERVAL_MS && done < total) return
      shown = time
      terminal.write(`${ERASE}${label} ${showProgress(done, total, (time - start) / 1000, noun)}`)
    },
    end() {
      if (shown > Number.NEGATIVE_INFINITY) terminal.write(ERASE)
      shown = Number.NEGATIVE_INFINITY
    },
  }
}

function showProgress(done: number, total: number, seconds: number, noun: string): string {
  const percent = total === 0 ? 100 : Math.floor((100 * done) / total)
  const rate = seconds > 0 ? `, ${Math.round(done / seconds)} ${noun}/s` : ''
  return `${done}/${total} ${noun} (${percent} %)${rate}`
}
