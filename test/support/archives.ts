import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { provide, runs } from './provide.ts'

export const haveZip = (): boolean =>
  [provide('zip', () => runs('zip', '-v')), provide('python3', () => runs('python3', '-c', 'import zipfile'))].every(Boolean)

export type Files = Readonly<Record<string, Uint8Array>>

/** Runs `work` in a folder with these files in it; the folder is gone afterwards. */
function inFolder<T>(files: Files, work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-zip-'))
  try {
    for (const [name, bytes] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, 'in', name)), { recursive: true })
      writeFileSync(join(folder, 'in', name), bytes)
    }
    return work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Returns the archive that `zip` writes for some files. The command writes it to `../x.zip`. */
export const zipped = (files: Files, command = 'zip -0 -q -r ../x.zip .'): Uint8Array =>
  inFolder(files, (folder) => {
    execFileSync('sh', ['-c', command], { cwd: join(folder, 'in'), stdio: ['ignore', 'ignore', 'inherit'] })
    return bytesOf(join(folder, 'x.zip'))
  })

/**
 * Returns the archive that Python writes for some files. `code` may use `path` of the archive, `files`, and
 * all names of `zipfile`.
 */
export const zippedByPython = (files: Files, code: string): Uint8Array =>
  inFolder(files, (folder) => {
    const archive = join(folder, 'x.zip')
    runPython(archive, folder, Object.keys(files), code)
    return bytesOf(archive)
  })

export function runPython(path: string, folder: string, names: readonly string[], code: string): void {
  const read = 'files = {name: open(sys.argv[2] + "/in/" + name, "rb").read() for name in sys.argv[3:]}'
  const program = `import io, os, sys\nfrom zipfile import *\npath = sys.argv[1]\n${read}\n${code}`
  execFileSync('python3', ['-c', program, path, folder, ...names], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/**
 * Python that writes all files with `writestr`, and whatever else is to happen before the archive is closed.
 */
export const WRITE_ALL = (more = 'pass', mode = 'w'): string => `with ZipFile(path, '${mode}') as z:
  for name, content in files.items(): z.writestr(name, content)
  ${more}`

const bytesOf = (path: string): Uint8Array => Uint8Array.from(readFileSync(path))
