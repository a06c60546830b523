import { Argument, type Command } from 'commander'
import { print } from '../show/text.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a shell completion script for commands, options and their choices')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addHelpText(
      'after',
      `
Examples: once, in what the shell reads when it starts
  $ hyperslab completion bash >> ~/.bashrc
  $ hyperslab completion zsh >> ~/.zshrc
  $ hyperslab completion fish > ~/.config/fish/completions/hyperslab.fish`,
    )
    .action((shell: Shell) => print([SCRIPTS[shell](listWords(program))]))
}

/** An option, as needed by completion scripts. */
interface OptionWords {
  readonly flags: readonly string[]
  readonly description: string
  readonly takesValue: boolean
  readonly choices: readonly string[]
}

interface CommandWords {
  readonly name: string
  readonly description: string
  readonly options: readonly OptionWords[]
  /** Choices of the first argument. */
  readonly choices: readonly string[]
}

/** Collects the commands and options that the program declares. */
function listWords(program: Command): CommandWords[] {
  return program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    // Also those that the help leaves to a page.
    options: [...new Set([...command.options, ...command.createHelp().visibleOptions(command)])].map(
      ({ short, long, description, required, optional, argChoices }) => ({
        flags: [short, long].filter((flag) => flag !== undefined),
        description,
        takesValue: required || optional,
        choices: argChoices ?? [],
      }),
    ),
    choices: command.registeredArguments[0]?.argChoices ?? [],
  }))
}

/** Quotes text in single quotes, as all three shells accept it. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const SCRIPTS: Record<Shell, (commands: readonly CommandWords[]) => string> = {
  bash: (commands) => `_hyperslab() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words=
  if (( COMP_CWORD == 1 )); then
    words='${commands.map(({ name }) => name).join(' ')} help --help --version'
  else
    case "\${COMP_WORDS[1]} $before" in
${commands.flatMap(({ name, options }) => options.filter(({ choices }) => choices.length > 0).map(({ flags, choices }) => `      ${flags.map((flag) => `'${name} ${flag}'`).join('|')}) words='${choices.join(' ')}' ;;`)).join('\n')}
      *) if [[ $word == -* ]]; then case "\${COMP_WORDS[1]}" in
${commands.map(({ name, options }) => `        ${name}) words='${options.flatMap(({ flags }) => flags).join(' ')}' ;;`).join('\n')}
      esac
      elif (( COMP_CWORD == 2 )); then case "\${COMP_WORDS[1]}" in
${commands
  .filter(({ choices }) => choices.length > 0)
  .map(({ name, choices }) => `        ${name}) words='${choices.join(' ')}' ;;`)
  .join('\n')}
        help) words='${commands.map(({ name }) => name).join(' ')}' ;;
      esac; fi ;;
    esac
  fi
  COMPREPLY=()
  if [[ -n $words ]]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"); fi
}
# Where no word fits, names of files do.
complete -o default -F _hyperslab hyperslab
`,
  zsh: (commands) => `_hyperslab() {
  local -a commands=(
${commands.map(({ name, description }) => `    ${quoted(`${name}:${description}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case $words[2] in
${commands
  .map(({ name, options, choices }) => {
    const specs = options.flatMap(({ flags, description, takesValue, choices }) =>
      flags.map((flag) => {
        const text = description.replace(/[[\]:\\]/g, '\\$&')
        const value = choices.length > 0 ? `(${choices.join(' ')})` : '_files'
        return quoted(`${flag}[${text}]${takesValue ? `: :${value}` : ''}`)
      }),
    )
    const first = quoted(choices.length > 0 ? `2: :(${choices.join(' ')})` : '2: :_files')
    return `    ${name}) _arguments '1: :' ${first} '*: :_files' \\\n      ${specs.join(' \\\n      ')} ;;`
  })
  .join('\n')}
  esac
}
compdef _hyperslab hyperslab
`,
  fish: (commands) => {
    const base = 'complete -c hyperslab'
    const lines = commands.flatMap(({ name, description, options, choices }) => {
      const isFor = `-n '__fish_seen_subcommand_from ${name}'`
      return [
        `${base} -n __fish_use_subcommand -f -a ${name} -d ${fishQuoted(description)}`,
        ...(choices.length > 0 ? [`${base} ${isFor} -f -a ${fishQuoted(choices.join(' '))}`] : []),
        ...options.map(({ flags, description, takesValue, choices }) =>
          [
            `${base} ${isFor}`,
            ...flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)),
            takesValue ? '-r' : '-f',
            ...(choices.length > 0 ? [`-f -a ${fishQuoted(choices.join(' '))}`] : []),
            `-d ${fishQuoted(description)}`,
          ].join(' '),
        ),
      ]
    })
    return `${lines.join('\n')}\n`
  },
}

/** Quotes text for fish, which has escapes within quotes. */
const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
