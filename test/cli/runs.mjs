// Runs of every subcommand, in the order in which they build on each other, in a folder with `tas.nc` of the
// demo. test/cli/every-command.test.ts compares them with the table of commands, and runs them;
// scripts/first-day.mjs runs them from the packed archive.

// `QUEUE` stands for the URL of a queue, `JOB` for the id of the job that JOB has run. A run of the kind
// `served` goes on until it is interrupted; one of the kind `text` prints no JSON.

const good = (command, args, prints, kind) => ({ command, args: args.split(' ').filter(Boolean), prints, kind })
const bad = (command, args, exitCode, fails) => ({ command, args: args.split(' ').filter(Boolean), exitCode, fails })

const QUEUED = '--queue QUEUE --prefix runs'

export const RUNS = [
  good('import', 'tas.nc tas.af', /^tas\.af: 7 arrays/),
  bad('import', 'tas.nc tas.af', 1, /--overwrite replaces it/),
  bad('import', 'tas.nc tas.txt', 2, /ends in \.af or \.zarr/),
  bad('import', 'gone.nc out.af', 1, /gone\.nc/),
  good('export', 'tas.af tas.zarr --chunks time=1', /^tas\.zarr: 7 arrays/),
  good('export', 'tas.af tas.csv --variables lat', /^tas\.csv: /),
  bad('export', 'tas.af tas.csv --variables lat', 1, /--overwrite replaces it/),
  bad('export', 'tas.af tas.zarr --chunks lat=5', 1, /--overwrite replaces it|is there already|already/),
  bad('export', 'tas.af other.zarr --chunks height=5', 1, /height/),
  good('rechunk', 'tas.zarr series.zarr --chunks time=12,lat=24,lon=24', /^series\.zarr: 7 arrays/),
  bad('rechunk', 'tas.zarr out.txt', 2, /ends in \.zarr or \.af/),
  good('cp', 'tas.af copy.af', /^copy\.af: 1 object/),
  bad('cp', 'tas.nc copy.af', 1, /copy\.af/),
  bad('cp', 'gone.af other.af', 1, /gone\.af/),
  good('info', 'tas.af', /tas +float32/),
  bad('info', 'gone.af', 1, /gone\.af/),
  bad('info', 'tas.nc --names tas', 2, /--names is for Zarr stores/),
  good('head', 'tas.af tas', /tas/),
  bad('head', 'tas.af wind', 1, /wind/),
  good('get', 'tas.af lat 0:2', /-/),
  good('get', 'tas.af tas --sel lat=52.5 lon=13.4 --method nearest', /\d/),
  bad('get', 'tas.af tas --sel lat=52.5 lon=13.4', 1, /--method nearest takes the nearer one/),
  bad('get', 'tas.af tas 0,0,0,0', 1, /tas/),
  bad('get', 'tas.af tas 0 --method nearest', 2, /--method requires --sel/),
  good('stats', 'tas.af tas', /278\.7/),
  bad('stats', 'tas.af wind', 1, /wind/),
  good('reduce', 'tas.af tas --op mean', /278\.7/),
  bad('reduce', 'tas.af tas --op mode', 2, /mode/),
  bad('reduce', 'tas.af tas --op mean --axis height', 1, /height/),
  good('plot', 'tas.af tas 0', /Near-Surface Air Temperature/),
  good('plot', 'tas.af tas 0 --output tas.png', /^tas\.png: /m),
  bad('plot', 'tas.af tas 0 --output tas.png', 1, /--overwrite replaces it/),
  bad('plot', 'tas.af tas 0,0,0', 1, /one element/),
  good('attr', 'tas.af tas', /units/),
  good('attr', 'tas.af tas comment=checked', undefined),
  bad('attr', 'tas.af tas wind', 1, /there is no attribute 'wind'/),
  bad('attr', 'tas.nc tas comment=checked', 1, /import it first/),
  good('diff', 'tas.nc copy.af', /nothing differs/),
  bad('diff', 'tas.nc gone.af', 1, /gone\.af/),
  good('serve', 'tas.af --port 0', /^http:\/\/127\.0\.0\.1:\d+\/tas\.zarr$/m, 'served'),
  bad('serve', 'tas.af copy.af tas.af --port 0', 2, /two of the files/),
  good('view', 'tas.af --no-open', /^http:\/\/127\.0\.0\.1:\d+\/viewer\/\?url=/m, 'served'),
  bad('view', 'gone.af --no-open', 1, /gone\.af/),
  good('references', 'tas.json tas.nc', /^tas\.json: 7 arrays/),
  bad('references', 'tas.json tas.nc', 1, /--overwrite replaces it/),
  good('references', 'objects.json tas.zarr', /^objects\.json: \d+ arrays/),
  bad('references', 'again.json objects.json', 1, /this is a list of references already/),
  good('verify', 'tas.af --deep', /tas\.af/),
  bad('verify', 'tas.nc', 1, /import it first/),
  good('compact', 'tas.af --codec zstd', /before[\s\S]*after/),
  good('compact', 'tas.af --immutable -o sealed.af', /^sealed\.af: 7 arrays/),
  bad('compact', 'tas.af --immutable -o sealed.af', 1, /--overwrite/),
  bad('compact', 'tas.af --immutable', 2, /go together/),
  bad('work', '', 2, /which queue\?/),
  bad('work', '--queue redis:/nowhere', 1, /redis:/),
  good('work', `${QUEUED} --until-idle`, /tasks? and \d+ merges? done/),
  good('jobs list', QUEUED, /done/),
  bad('jobs list', '', 2, /which queue\?/),
  bad('jobs list', `3fa9 ${QUEUED}`, 2, /takes no id/),
  good('jobs show', `JOB ${QUEUED}`, /done/),
  bad('jobs show', QUEUED, 2, /takes the id of a job/),
  bad('jobs show', `nothing ${QUEUED}`, 1, /no job nothing/),
  good('jobs cancel', `JOB ${QUEUED}`, /is over already/),
  bad('jobs cancel', `nothing ${QUEUED}`, 1, /no job nothing/),
  good('jobs retry', `JOB ${QUEUED}`, /has not failed/),
  bad('jobs retry', `nothing ${QUEUED}`, 1, /no job nothing/),
  good('jobs metrics', QUEUED, /bullmq_job_count/, 'text'),
  bad('jobs metrics', `--json ${QUEUED}`, 2, /text for Prometheus/),
  bad('jobs metrics', `3fa9 ${QUEUED}`, 2, /takes no id/),
  good('completion bash', '', /complete/, 'text'),
  bad('completion bash', 'more', 2, /too many arguments/),
  good('completion zsh', '', /compdef/, 'text'),
  bad('completion zsh', '--shell', 2, /unknown option/),
  good('completion fish', '', /complete -c/, 'text'),
  bad('completion fish', 'more', 2, /too many arguments/),
]

/** Run that leaves a job in the queue, while a worker waits; its id is the JOB of later runs. */
export const JOB = ['reduce', 'tas.nc', 'tas', '--op', 'mean', '--queue', 'QUEUE', '--prefix', 'runs', '--progress', 'json']

/** Keys of what has to be run: each command, or each of its actions if its first argument has choices. */
export const keysOf = (program) =>
  program.commands.flatMap((command) => {
    const { argChoices } = command.registeredArguments[0] ?? {}
    return argChoices === undefined ? [command.name()] : argChoices.map((choice) => `${command.name()} ${choice}`)
  })
