// Requirements of a release that a clone need not meet: run by `npm publish` before anything else. The
// checklist is in CONTRIBUTING.md.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FILES = [
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'deno.json',
  'dist/index.js',
  'dist/cli.js',
  'dist/hyperslab.1',
]

/** Returns the reasons why the package in a folder cannot be released, one line each. */
export function faultsOf(root) {
  const read = (name) => (existsSync(join(root, name)) ? readFileSync(join(root, name), 'utf8') : '')
  const { version, repository, homepage, bugs } = JSON.parse(read('package.json'))
  // Names below `.invalid` never exist: they are placeholders until there is a repository.
  const isAddress = (value) => /^(git\+)?https:\/\/[^/\s]+\.(?!invalid\/)[^./\s]+\/\S+$/.test(value ?? '')
  const escaped = version.replaceAll('.', '\\.')
  return [
    ...FILES.filter((name) => read(name) === '').map((name) => `${name} is missing`),
    ...(isAddress(repository?.url)
      ? []
      : ['package.json: repository.url must be the https address of the repository, which provenance compares']),
    ...(isAddress(homepage) ? [] : ['package.json: homepage must be the https address of the site']),
    ...(isAddress(bugs?.url ?? bugs) ? [] : ['package.json: bugs must be the https address of its issues']),
    ...(JSON.parse(read('deno.json') || '{}').version === version
      ? []
      : [`deno.json: version must be ${version}, that of package.json`]),
    ...(new RegExp(`^## ${escaped} \\(\\d{4}-\\d\\d-\\d\\d\\)$`, 'm').test(read('CHANGELOG.md'))
      ? []
      : [`CHANGELOG.md: there is no heading '## ${version} (year-month-day)'`]),
    ...(read('README.md').includes('not on npm yet') ? ['README.md says that the package is not on npm yet'] : []),
  ]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const faults = faultsOf(fileURLToPath(new URL('..', import.meta.url)))
  for (const fault of faults) console.error(fault)
  process.exitCode = faults.length > 0 ? 1 : 0
}
