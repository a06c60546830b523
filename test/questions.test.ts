import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runPages } from './support/page-programs.ts'

const page = readFileSync(new URL('../docs/questions.md', import.meta.url), 'utf8')
/** Title of each section, and its program. */
const ANSWERS = page
  .split(/^## /m)
  .slice(1)
  .map((section) => ({ title: section.split('\n')[0]!, code: /```js\n([\s\S]*?)```/.exec(section)?.[1] }))

/** Output of programs whose `console.log` runs several times. */
const REPEATED: Record<string, string[]> = {
  'How do I keep what was read when the page is closed?': ['first 18432', 'second 18432', 'true'],
  'How do I choose chunks?': ['1 12', '200 1'],
}

const run = runPages()

test('the page answers fifteen questions, and a program is missing only where none can answer', () => {
  expect(ANSWERS).toHaveLength(15)
  expect(ANSWERS.filter(({ code }) => code === undefined).map(({ title }) => title)).toEqual([
    // A test with a gateway of S3 runs the command (test/cli).
    'How do I publish a Zarr store in R2 from the command line?',
    'Which browsers does it run in?',
    'How big is it?',
  ])
})

test.each(ANSWERS.filter(({ code }) => code !== undefined))('$title', async ({ title, code }) => {
  const promised = code!.split('\n').flatMap((line) => (line.includes('console.log(') ? [line.split(') // ')[1]] : []))
  expect((await run(code!)).printed).toEqual(REPEATED[title] ?? promised)
})
