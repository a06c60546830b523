import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addAttr } from './commands/attr.ts'
import { addCompact } from './commands/compact.ts'
import { addCompletion } from './commands/completion.ts'
import { addCp } from './commands/cp.ts'
import { addDiff } from './commands/diff.ts'
import { addExport } from './commands/export.ts'
import { addGet } from './commands/get.ts'
import { addHead } from './commands/head.ts'
import { addImport } from './commands/import.ts'
import { addInfo } from './commands/info.ts'
import { addJobs } from './commands/jobs.ts'
import { checkNotFoundOption, jsonOption, notFoundOption, showNegatives } from './commands/options.ts'
import { addPlot } from './commands/plot.ts'
import { addRechunk } from './commands/rechunk.ts'
import { addReduce } from './commands/reduce.ts'
import { addReferences } from './commands/references.ts'
import { addServe } from './commands/serve.ts'
import { addStats } from './commands/stats.ts'
import { addVerify } from './commands/verify.ts'
import { addView } from './commands/view.ts'
import { addWork } from './commands/work.ts'
import { nameFlagsOf, oneLine } from './show/failure.ts'
import { ownJson, parserOutput, printAsJson } from './show/text.ts'

/** Creates the command line. Its parser throws the errors of commander instead of ending the process. */
export function createProgram(version = packageVersion()): Command {
  const program = new Command('hyperslab')
    .description('Inspect containers of chunked arrays, NetCDF, HDF5, TIFF and Zarr, and convert one into another.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .exitOverride()
    // Without their arguments, so that descriptions have room; the help of a command has these.
    .configureHelp({ subcommandTerm: (command) => command.name(), minWidthToWrap: 20 })
    .configureOutput({
      ...parserOutput,
      outputError: (text, write) => write(`hyperslab: ${oneLine(showNegatives(text.replace(/^error: /, '')))}\n`),
    })
    .addHelpText(
      'after',
      `
Examples
  $ hyperslab import tas.nc climate.af
  $ hyperslab info climate.af
  $ hyperslab get climate.af tas 0,10:20,::-2
  $ hyperslab plot climate.af tas 0

Exit codes: 0 done, 1 the data or its place has a fault, 2 the command line is
wrong.`,
    )
  for (const add of [
    addImport,
    addExport,
    addRechunk,
    addCp,
    addInfo,
    addHead,
    addGet,
    addStats,
    addReduce,
    addPlot,
    addAttr,
    addDiff,
    addServe,
    addView,
    addReferences,
    addVerify,
    addCompact,
    addWork,
    addJobs,
    addCompletion,
  ])
    add(program)
  for (const command of program.commands) if (command.name() !== 'completion') command.addOption(jsonOption())
  for (const command of program.commands) if (!PLACELESS.includes(command.name())) command.addOption(notFoundOption())
  program.hook('preAction', (_, command) => {
    nameFlagsOf(command)
    printAsJson(command.opts()['json'] === true)
    checkNotFoundOption(command.args, command.opts())
  })
  return program
}

/** Commands that do not open a location. */
const PLACELESS: readonly string[] = ['work', 'jobs', 'completion']

/** Returns the version from the package.json beside `dist`. */
function packageVersion(): string {
  const { version } = ownJson(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
  return version
}
