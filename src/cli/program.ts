import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { parseJson } from '../core/json.ts'
import { addAttr } from './attr.ts'
import { addCompact } from './compact.ts'
import { addCompletion } from './completion.ts'
import { addCp } from './cp.ts'
import { addDiff } from './diff.ts'
import { addExport } from './export.ts'
import { oneLine } from './failure.ts'
import { addGet } from './get.ts'
import { addHead } from './head.ts'
import { addImport } from './import.ts'
import { addInfo } from './info.ts'
import { addJobs } from './jobs.ts'
import { checkNotFoundOption, notFoundOption } from './options.ts'
import { parserOutput } from './output.ts'
import { addPlot } from './plot.ts'
import { addRechunk } from './rechunk.ts'
import { addReduce } from './reduce.ts'
import { addReferences } from './references.ts'
import { showNegatives } from './selection.ts'
import { addServe } from './serve.ts'
import { addStats } from './stats.ts'
import { addVerify } from './verify.ts'
import { addView } from './view.ts'
import { addWork } from './work.ts'

/** Creates the command line. Its parser throws the errors of commander instead of ending the process. */
export function createProgram(version = packageVersion()): Command {
  const program = new Command('hyperslab')
    .description('Inspect containers of chunked arrays, classic NetCDF and Zarr, and convert one into another.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .exitOverride()
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

Exit codes: 0 done, 1 the data or its place has a fault, 2 the command line is wrong.`,
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
  for (const command of program.commands) if (!PLACELESS.includes(command.name())) command.addOption(notFoundOption())
  program.hook('preAction', (_, command) => checkNotFoundOption(command.args, command.opts()))
  return program
}

/** Commands that do not open a location. */
const PLACELESS: readonly string[] = ['work', 'jobs', 'completion']

/** Returns the version from the package.json beside `dist`. */
function packageVersion(): string {
  const { version } = parseJson(readFileSync(new URL('../package.json', import.meta.url)), 'package.json') as { version: string }
  return version
}
