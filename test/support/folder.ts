import { existsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A new folder for files that a killed process leaves and others find: in memory where the system offers
 * that, as nothing in such a test outlives the machine, and it would wait for a disk most of its time.
 */
export const folderInMemory = (name: string): Promise<string> =>
  mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `hyperslab-${name}-`))
