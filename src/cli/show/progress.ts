import type { JobProgress, JobStatus } from '../../runtime/cluster.ts'
import type { Progress } from '../../runtime/index.ts'
import { count, showBytes } from './text.ts'

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

export const PROGRESS = ['bar', 'json', 'none'] as const
export type ProgressKind = (typeof PROGRESS)[number]

/** Display of a job while the command waits for it. */
export interface JobProgressShown {
  readonly onStatus: (status: JobStatus) => void
  readonly onProgress: (progress: JobProgress) => void
  end(): void
}

const WIDTH = 24

/** Shows a bar on a terminal, or prints a line of JSON for each change. */
export function jobProgress(
  kind: ProgressKind,
  terminal: Terminal = process.stderr,
  now: () => number = () => performance.now(),
): JobProgressShown {
  const isShown = kind === 'json' || (kind === 'bar' && terminal.isTTY === true)
  const start = now()
  let status: JobStatus | undefined
  let first: number | undefined
  let last = ''
  const onProgress = ({ done, total, bytes, totalBytes }: JobProgress): void => {
    if (!isShown || status === undefined) return
    const { id, state, workers } = status
    // Tasks that were done earlier do not count for the present speed.
    first ??= done
    const seconds = (now() - start) / 1000
    const left = done > first && state !== 'done' ? Math.round(((total - done) * seconds) / (done - first)) : undefined
    const fact = { id, state, done, total, bytes, totalBytes, workers, ...(left !== undefined && { secondsLeft: left }) }
    const text = kind === 'json' ? `${JSON.stringify(fact)}\n` : `${ERASE}${drawBar(fact)}`
    if (text === last) return
    last = text
    terminal.write(text)
  }
  return {
    onStatus: (told) => {
      status = told
    },
    onProgress,
    end: () => {
      if (kind === 'bar' && last !== '') terminal.write(ERASE)
    },
  }
}

interface Fact extends JobProgress {
  readonly workers: number
  readonly secondsLeft?: number
}

function drawBar({ done, total, bytes, totalBytes, workers, secondsLeft }: Fact): string {
  const full = total === 0 ? WIDTH : Math.floor((WIDTH * done) / total)
  const bar = `${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}`
  const who = workers === 0 ? 'waiting for workers (hyperslab work)' : count(workers, 'worker')
  const left = secondsLeft === undefined ? '' : `, ${showDuration(secondsLeft)} left`
  return `[${bar}] ${done}/${total} tasks, ${showBytes(bytes)} of ${showBytes(totalBytes)}, ${who}${left}`
}

function showDuration(seconds: number): string {
  if (seconds < 90) return `${seconds} s`
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`
}
