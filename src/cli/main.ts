import { protectNegatives } from './commands/options.ts'
import { createProgram } from './program.ts'
import { toFailure } from './show/failure.ts'
import { endQuietlyOnClosedPipe, printError, printStack } from './show/text.ts'

async function main(args: readonly string[]): Promise<void> {
  endQuietlyOnClosedPipe()
  try {
    await createProgram().parseAsync(protectNegatives(args), { from: 'user' })
  } catch (error) {
    const { line, exitCode } = toFailure(error)
    if (line !== undefined) printError(line)
    if (line !== undefined && process.env['DEBUG']) printStack(error)
    process.exitCode = exitCode
  }
}

await main(process.argv.slice(2))
