import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const root = new URL('..', import.meta.url).pathname
const script = join(root, 'scripts/check-release.mjs')
const { faultsOf } = (await import(script)) as { faultsOf(folder: string): string[] }

const pkg = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const FILES = ['LICENSE', 'SECURITY.md', 'CODE_OF_CONDUCT.md', 'deno.json', 'dist/index.js', 'dist/cli.js', 'dist/hyperslab.1']

/** A folder as it is when everything of the checklist was done. */
function complete(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-release-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of FILES) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    cpSync(join(root, name), join(folder, name))
  }
  const address = 'https://forge.example/somebody/hyperslab'
  const published = {
    ...pkg,
    repository: { type: 'git', url: `git+${address}.git` },
    homepage: `${address}/site`,
    bugs: `${address}/issues`,
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(published))
  writeFileSync(join(folder, 'README.md'), '# hyperslab\n')
  writeFileSync(join(folder, 'CHANGELOG.md'), `# Changelog\n\n## ${pkg.version} (2026-11-23)\n`)
  return folder
}

test('a release that has everything passes', () => {
  expect(faultsOf(complete())).toEqual([])
})

test('a release without a repository, a homepage, a date, a file or one version does not', () => {
  const folder = complete()
  writeFileSync(join(folder, 'package.json'), JSON.stringify(pkg))
  writeFileSync(join(folder, 'CHANGELOG.md'), `# Changelog\n\n## ${pkg.version} (unreleased)\n`)
  writeFileSync(join(folder, 'README.md'), 'hyperslab is not on npm yet')
  writeFileSync(join(folder, 'deno.json'), JSON.stringify({ version: '0.0.1' }))
  rmSync(join(folder, 'dist/hyperslab.1'))
  expect(faultsOf(folder)).toEqual([
    'dist/hyperslab.1 is missing',
    expect.stringContaining('repository.url'),
    expect.stringContaining('homepage'),
    expect.stringContaining('bugs'),
    `deno.json: version must be ${pkg.version}, that of package.json`,
    expect.stringContaining(`'## ${pkg.version} (year-month-day)'`),
    expect.stringContaining('not on npm yet'),
  ])
})

test('publishing asks it first, and an unfinished clone is refused', () => {
  expect(pkg.scripts.prepublishOnly).toBe('node scripts/check-release.mjs')
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
  // Without faults, the clone is ready to be published.
  expect(status).toBe(stderr === '' ? 0 : 1)
  expect(faultsOf(root).join('\n')).toBe(stderr.trim())
})

test('the lock file has the optional packages of all platforms, which npm ci asks for', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>
  }
  const paths = Object.keys(packages)
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !paths.includes(`node_modules/${name}`) && !paths.includes(`${path}/node_modules/${name}`),
    ),
  )
  expect(paths.length).toBeGreaterThan(150)
  expect(missing).toEqual([])
})

test('placeholders of addresses are refused', () => {
  const folder = complete()
  const { repository, homepage, bugs } = pkg
  expect([repository.url, homepage, bugs.url].every((url: string) => url.includes('.invalid/'))).toBe(true)
  writeFileSync(join(folder, 'package.json'), JSON.stringify(pkg))
  expect(faultsOf(folder)).toEqual(['repository.url', 'homepage', 'bugs'].map((name) => expect.stringContaining(name)))
})
