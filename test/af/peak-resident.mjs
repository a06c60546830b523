import { readFileSync } from 'node:fs'

/**
 * The most memory, in bytes, that this process has had in RAM. Linux begins `maxRSS` with what the process
 * had that started this one, which may be more than this ever takes.
 */
export function peakResident() {
  try {
    return Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024
  } catch {
    return process.resourceUsage().maxRSS * 1024
  }
}
