import type { Progress } from '../array/transfers.ts'

/** Output of a progress line. */
export interface Terminal {
  readonly isTTY?: boolean
  write(text: string): unknown
}

export interface ProgressLine {
  update(progress: Progress): void
  /** Removes the line. */
  end(): void
}

const INTERVAL_MS = 100
const ERASE = '\r\x1b[K'

/**
 * Shows one line about the progress, in units of `noun`, which is rewritten. Shows nothing without a
 * terminal.
 */
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
