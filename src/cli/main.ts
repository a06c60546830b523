import { failureOf } from './failure.js'
import { endQuietlyOnClosedPipe, printError, printStack } from './output.js'
import { createProgram } from './program.js'
import { protectNegatives } from './selection.js'

async function main(args: readonly string[]): Promise<void> {
  endQuietlyOnClosedPipe()
  try {
    await createProgram().parseAsync(protectNegatives(args), { from: 'user' })
  } catch (error) {
    const { line, exitCode } = failureOf(error)
    if (line !== undefined) printError(line)
    if (line !== undefined && process.env['DEBUG']) printStack(error)
    process.exitCode = exitCode
  }
}

await main(process.argv.slice(2))
