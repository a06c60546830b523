// Runs the suite of the built package in every runtime: node test/runtimes/run.mjs [--write] [name …]. What
// is missing on this machine is skipped, but fails in CI. --write puts the outcome into docs/runtimes.md.
import { join } from 'node:path'
import { layOutApp } from './harness/app.mjs'
import { BROWSER_LIMIT_SECONDS, runBrowser } from './harness/browser-runtimes.mjs'
import { provideBrowser } from './harness/browsers.mjs'
import { bundle } from './harness/bundles.mjs'
import { EDGE_SECONDS, runEdge } from './harness/edge-runtimes.mjs'
import { runPackaging } from './harness/packaging.mjs'
import { PROCESSES, runProcess } from './harness/process-runtimes.mjs'
import { Missing, within } from './harness/processes.mjs'
import { excerpt, failuresOf, summary, writeTable } from './harness/table.mjs'
import { install, root } from './harness/tools.mjs'

const ci = /^(1|true)$/i.test(process.env.CI ?? '')

/** For each environment: tools to install, what else it needs, how it runs. */
const ENVIRONMENTS = {
  package: { tools: ['package', 'bundlers', 'deno'], run: runPackaging },
  ...Object.fromEntries(
    Object.keys(PROCESSES).map((name) => [name, { tools: name === 'node' ? [] : [name], run: (app) => runProcess(name, app) }]),
  ),
  ...Object.fromEntries(
    ['chromium', 'firefox'].map((name) => [
      name,
      {
        tools: [name, 'bundlers', 'map'],
        prepare: () => provideBrowser(name, { ci }),
        run: (app) => runBrowser(name, app),
        seconds: BROWSER_LIMIT_SECONDS,
      },
    ]),
  ),
  workerd: { tools: ['workerd'], run: runEdge, seconds: EDGE_SECONDS },
}

/** Time limit of one environment, without downloads. */
const LIMIT_SECONDS = 160

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'))
const given = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
const unknown = [...given.filter((name) => !(name in ENVIRONMENTS)), ...flags.filter((flag) => flag !== '--write')]
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}. Environments: ${Object.keys(ENVIRONMENTS).join(', ')}. Flags: --write`)
  process.exit(2)
}
if (flags.length > 0 && given.length > 0) {
  console.error('--write needs all environments: the table is of one run')
  process.exit(2)
}
const names = given.length > 0 ? given : Object.keys(ENVIRONMENTS)

const started = Date.now()
const app = await layOutApp()
process.on('exit', app.remove)
console.log(`the archive: ${app.size} bytes, unpacked ${app.unpackedSize}`)

const missing = await provideAll()
await buildBundles()
console.log()
const rows = []
for (const name of names) {
  const row = await runOne(name)
  rows.push(row)
  report(row)
}

console.log(`\n${summary(rows)}\n${((Date.now() - started) / 1000).toFixed(0)} s in all`)
if (flags.includes('--write')) writeTable(join(root, 'docs/runtimes.md'), rows)
const bad = rows.filter((row) => row.failed !== undefined || failuresOf(row).length > 0 || (ci && row.skipped !== undefined))
// Whatever may still be open must not keep the run from ending.
process.exit(bad.length > 0 ? 1 : 0)

/**
 * Downloads, two at a time: they wait for the network more than for a processor.
 * @returns why an environment cannot run, by name
 */
async function provideAll() {
  const since = Date.now()
  const reasons = new Map()
  const tools = [...new Set(names.flatMap((name) => ENVIRONMENTS[name].tools))]
  const absent = new Map()
  const queue = [...tools]
  const work = async () => {
    for (let tool = queue.shift(); tool !== undefined; tool = queue.shift()) await orReason(install(tool), tool, absent)
  }
  await Promise.all([work(), work()])
  for (const name of names) {
    const tool = ENVIRONMENTS[name].tools.find((each) => absent.has(each))
    if (tool !== undefined) reasons.set(name, absent.get(tool))
    else await orReason(ENVIRONMENTS[name].prepare?.(), name, reasons)
  }
  console.log(`tools and browsers: ${((Date.now() - since) / 1000).toFixed(1)} s`)
  return reasons
}

/** Once for all browsers, and not within the time of one of them. */
async function buildBundles() {
  const since = Date.now()
  if (!names.some((name) => !missing.has(name) && ENVIRONMENTS[name].tools.includes('bundlers'))) return
  await bundle(app)
  console.log(`bundles: ${((Date.now() - since) / 1000).toFixed(1)} s`)
}

async function orReason(work, key, reasons) {
  try {
    await work
  } catch (error) {
    if (!(error instanceof Missing)) throw error
    reasons.set(key, error.message)
  }
}

async function runOne(name) {
  const since = Date.now()
  const seconds = () => (Date.now() - since) / 1000
  if (missing.has(name)) return { name, skipped: missing.get(name), seconds: 0 }
  try {
    const { run, seconds: limit = LIMIT_SECONDS } = ENVIRONMENTS[name]
    const outcome = await within(limit, name, run(app))
    return { name, ...outcome, seconds: seconds() }
  } catch (error) {
    return { name, failed: error.stack, seconds: seconds() }
  }
}

function report(row) {
  console.log(summary([row]))
  if (row.failed !== undefined) console.log(indent(row.failed))
  for (const { cell, name, error } of failuresOf(row)) console.log(indent(`${cell}: ${name}\n${indent(excerpt(error))}`))
}

function indent(text) {
  return text.replace(/^/gm, '  ')
}
