import { failureOf } from './failure.js'
import { endQuietlyOnClosedPipe } from './output.js'
import { createProgram } from './program.js'
import { protectNegatives } from './selection.js'

async function main(args: readonly string[]): Promise<void> {
  endQuietlyOnClosedPipe()
  try {
    await createProgram().parseAsync(protectNegatives(args), { from: 'user' })
  } catch (error) {
    const { line, exitCode } = failureOf(error)
    if (line !== undefined) process.stderr.write(`hyperslab: ${line}\n`)
    if (line !== undefined && process.env['DEBUG']) console.error(error)
    process.exitCode = exitCode
  }
}

await main(process.argv.slice(2))
