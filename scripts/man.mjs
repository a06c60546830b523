// Writes dist/hyperslab.1, the manual page, from the command's help.
import { readFileSync, writeFileSync } from 'node:fs'
import { createProgram } from '../build/js/cli/program.js'

const { version, description } = JSON.parse(readFileSync('package.json', 'utf8'))

/** Escapes text, so that nothing in it is a request or an escape of troff. */
const escaped = (text) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')

const paragraph = (term, text) => ['.TP', `.B ${escaped(term)}`, escaped(text)]

/** Returns the text added behind the help, line by line. */
function after(command) {
  let text = ''
  command.configureOutput({ writeOut: (piece) => (text += piece) })
  command.outputHelp()
  const lines = text.slice(command.helpInformation().length).trim()
  return lines === '' ? [] : ['.PP', '.nf', escaped(lines), '.fi']
}

function section(command) {
  const help = command.createHelp()
  const named = (items, term, text) => items.flatMap((item) => paragraph(term(item), text(item)))
  return [
    `.SS ${escaped(help.commandUsage(command))}`,
    escaped(command.description()),
    ...named(
      help.visibleArguments(command),
      (each) => help.argumentTerm(each),
      (each) => help.argumentDescription(each),
    ),
    ...named(
      [...new Set([...command.options, ...help.visibleOptions(command)])],
      (each) => help.optionTerm(each),
      (each) => help.optionDescription(each),
    ),
    ...after(command),
  ]
}

const program = createProgram(version)
const lines = [
  `.TH HYPERSLAB 1 "" "hyperslab ${version}"`,
  '.SH NAME',
  escaped(`hyperslab - ${description[0].toLowerCase()}${description.slice(1)}`),
  '.SH SYNOPSIS',
  escaped(program.createHelp().commandUsage(program)),
  '.SH DESCRIPTION',
  escaped(program.description()),
  ...after(program),
  '.SH COMMANDS',
  ...program.commands.flatMap(section),
]
writeFileSync('dist/hyperslab.1', `${lines.join('\n')}\n`)
