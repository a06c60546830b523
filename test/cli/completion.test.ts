import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { provide, runs } from '../support/provide.ts'
import { hyperslab, temporaryFolder } from './support.ts'

/** A folder with the script of a shell. */
async function scriptOf(shell: string): Promise<string> {
  const folder = await temporaryFolder()
  const { stdout, stderr, exitCode } = await hyperslab(folder, ['completion', shell])
  expect([stderr, exitCode]).toEqual(['', 0])
  await writeFile(join(folder, 'script'), stdout)
  return folder
}

const COMMANDS = createProgram('0.0.0').commands.map((command) => command.name())

/** A line as far as it is typed, and the words that complete it. */
const COMPLETED: readonly (readonly [line: string, words: readonly string[]])[] = [
  ['hyperslab re', COMMANDS.filter((name) => name.startsWith('re'))],
  ['hyperslab reduce x.af t --op arg', ['argmin', 'argmax']],
  ['hyperslab reduce x.af t --keep', ['--keep-missing']],
  ['hyperslab get x.af t -f j', ['json']],
  ['hyperslab completion f', ['fish']],
]

test('bash completes commands, options and choices, and leaves files to itself', async () => {
  const folder = await scriptOf('bash')
  const complete = `source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hyperslab; echo "\${COMPREPLY[@]}"`
  for (const [line, words] of [...COMPLETED, ['hyperslab get x', []] as const]) {
    const { stdout, stderr } = spawnSync('bash', ['-c', complete, 'bash', ...line.split(' ')], { cwd: folder, encoding: 'utf8' })
    expect([line, stderr, stdout.trim()]).toEqual([line, '', words.join(' ')])
  }
})

test.skipIf(!provide('fish', () => runs('fish', '--version')))('fish completes the same', async () => {
  const folder = await scriptOf('fish')
  for (const [line, words] of COMPLETED) {
    const { stdout } = spawnSync('fish', ['-c', `source script; complete -C '${line}'`], { cwd: folder, encoding: 'utf8' })
    const found = stdout
      .split('\n')
      .slice(0, -1)
      .map((each) => each.split('\t')[0])
    expect([line, found.toSorted()]).toEqual([line, words.toSorted()])
  }
})

test.skipIf(!provide('zsh', () => runs('zsh', '--version')))('zsh completes the same, as it is typed', async () => {
  const folder = await scriptOf('zsh')
  const single = COMPLETED.filter(([, words]) => words.length === 1)
  const typed = single.map(([line, [word]]) => `zpty -w -n z $'\\x15${line}\\t'; zpty -r z seen '*${word}*'; print found ${word}`)
  const program = `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'autoload -Uz compinit; compinit -u -D; source ./script; print READY$((1 + 1))'
zpty -r z seen '*READY2*'
${typed.join('\n')}
zpty -d z`
  const { stdout } = spawnSync('zsh', ['-f', '-c', program], { cwd: folder, encoding: 'utf8', timeout: 30_000 })
  expect(stdout.split('\n').slice(0, -1)).toEqual(single.map(([, [word]]) => `found ${word}`))
})

test('refuses a shell that it does not know', async () => {
  const { stderr, exitCode } = await hyperslab('.', ['completion', 'csh'])
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/Allowed choices are bash, zsh, fish\.\n$/)])
})

test.skipIf(!provide('groff-base', () => runs('groff', '--version')))('the manual page has all commands, and no warning', () => {
  const page = new URL('../../dist/hyperslab.1', import.meta.url).pathname
  const { stdout, stderr, status } = spawnSync('groff', ['-man', '-Tascii', '-P-c', '-ww', page], { encoding: 'utf8' })
  expect([stderr, status]).toEqual(['', 0])
  // Bold letters are printed twice.
  const text = stdout.replace(new RegExp(`.${String.fromCharCode(8)}`, 'g'), '')
  for (const name of COMMANDS) expect(text).toMatch(new RegExp(`^   hyperslab ${name} `, 'm'))
  expect(text).toContain('--keep-missing')
})
