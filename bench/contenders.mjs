// Writers, compactors and readers of one container, each a process of its own with a journal of acknowledged
// operations; and the judge, which checks what is read.
// HYPERSLAB_DIST names another build of the package: `HYPERSLAB_DIST=/old/dist npm run bench -- kills`.
import { spawn } from 'node:child_process'
import { appendFileSync, closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { random } from './measure.mjs'

const DIST = resolve(process.env.HYPERSLAB_DIST ?? fileURLToPath(new URL('../dist', import.meta.url)))
const { create, isHyperslabError, open } = await import(pathToFileURL(join(DIST, 'index.js')))

const FILE = 'x.af'
/** Largest number of flushes of a writer; it ends then. */
const ROWS = 8192
/** Longest pause after a first conflict, in milliseconds; doubled after each further one. */
const PAUSE = Number(process.env.HYPERSLAB_PAUSE ?? 4)
const ATTEMPTS = 500

/**
 * A container in a folder, and the journals beside it. Each writer has a column; so have the judge, which
 * writes as another writer of this package after each batch, and the crate. A flush writes an element of
 * `shared`, whose chunks all writers share, and one of `own`, where each writer has its own chunks.
 */
export class Contest {
  #folder
  #writers
  #columns
  #running = new Map()

  constructor(folder, writers) {
    this.#folder = folder
    this.#writers = writers
    this.#columns = writers + 2
  }

  get path() {
    return join(this.#folder, FILE)
  }

  get folder() {
    return this.#folder
  }

  async create() {
    const file = await create(this.path)
    file.createArray('shared', { dtype: 'uint16', shape: [ROWS, this.#columns], chunks: [32, this.#columns] })
    file.createArray('own', { dtype: 'uint16', shape: [this.#columns, ROWS], chunks: [1, 32] })
    await file.flush()
    await file.close()
  }

  /** Starts a process; resolves when it is about to open the container. */
  async start(role, number, { place = this.path, seed = 0, pause = PAUSE, compacts = false } = {}) {
    const args = [fileURLToPath(import.meta.url), role, place, this.journal(role, number), number, seed, compacts].map(String)
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, HYPERSLAB_DIST: DIST, HYPERSLAB_COLUMNS: String(this.#columns), HYPERSLAB_PAUSE: String(pause) },
    })
    const ended = new Promise((done) => child.once('exit', done))
    this.#running.set(child, ended)
    void ended.then(() => this.#running.delete(child))
    await Promise.race([new Promise((done) => createInterface({ input: child.stdout }).once('line', done)), ended])
    return { kill: () => this.#end(child, ended, 'SIGKILL'), stop: () => this.#end(child, ended, 'SIGTERM') }
  }

  async #end(child, ended, signal) {
    child.kill(signal)
    await ended
  }

  journal(role, number) {
    return join(this.#folder, `${role}-${number}.txt`)
  }

  /** Counts the events of all processes of a role by kind, the first word of each line. */
  count(role, numbers) {
    const counts = {}
    for (const number of numbers)
      for (const { kind } of events(this.journal(role, number))) counts[kind] = (counts[kind] ?? 0) + 1
    return counts
  }

  /**
   * Returns what a process was doing when its journal ended: `flush`, `compact`, or else `idle`. Idle
   * processes waited after a conflict, opened the container, or read.
   */
  doing(role, number) {
    const last = events(this.journal(role, number)).at(-1)
    return last?.kind === 'flush' || last?.kind === 'compact' ? last.kind : 'idle'
  }

  problems(role, numbers) {
    return numbers.flatMap((number) =>
      events(this.journal(role, number))
        .filter(({ kind }) => kind === 'problem')
        .map(({ rest }) => `${role} ${number}: ${rest}`),
    )
  }

  /**
   * Runs one turn of this package, which cleans up after killed writers, then one of the crate, then another
   * of this package.
   */
  async turn(crate) {
    const problems = await judge(this.path, this.#folder, this.#columns)
    const [ours, theirs] = [this.#writers, this.#writers + 1]
    problems.push(...(await attempted(() => append(this.path, this.journal('writer', ours), ours))))
    problems.push(...(await judge(this.path, this.#folder, this.#columns)))
    if (crate === undefined) return problems
    problems.push(...(await attempted(() => this.#crate(crate, theirs))))
    problems.push(...(await judge(this.path, this.#folder, this.#columns)))
    return problems
  }

  async #crate(crate, column) {
    const ask = async (command) => {
      const answer = await crate.run(command)
      if (!('ok' in answer)) throw new Error(`the crate, asked to ${command.do}: ${JSON.stringify(answer)}`)
      return answer.ok
    }
    await ask({ do: 'open', folder: this.#folder, file: FILE })
    const { arrays } = await ask({ do: 'dump', keys: [] })
    const [shared, own] = ['shared', 'own'].map((name) => {
      const { values } = arrays.find((array) => array.name === name)
      if (!('ok' in values)) throw new Error(`the crate reads ${name}: ${JSON.stringify(values)}`)
      return new Uint16Array(Uint8Array.from(Buffer.from(values.ok, 'hex')).buffer)
    })
    const found = compare(shared, own, state(this.#folder, this.#columns), this.#columns)
    if (found.length > 0) throw new Error(`the crate: ${shortened(found)}`)
    const journal = this.journal('writer', column)
    const row = nextRow(journal)
    if (row >= ROWS) return
    appendFileSync(journal, `try ${row}\n`)
    const data = Buffer.from(Uint16Array.of(row + 1).buffer).toString('hex')
    await ask({ do: 'write', name: 'shared', dtype: 'uint16', start: [row, column], shape: [1, 1], data })
    await ask({ do: 'write', name: 'own', dtype: 'uint16', start: [column, row], shape: [1, 1], data })
    await ask({ do: 'flush' })
    if (row % 4 === 3) await ask({ do: 'compact' })
    appendFileSync(journal, `done ${row}\n`)
  }

  async close() {
    await Promise.all([...this.#running].map(([child, ended]) => this.#end(child, ended, 'SIGKILL')))
  }
}

/** Serves the files of a folder over HTTP; each request reads the file that exists at that moment. */
export async function serveFolder(folder) {
  const server = createServer((request, response) => {
    const { status, headers, body } = answer(folder, request)
    response.writeHead(status, headers).end(body)
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

function answer(folder, { method, url, headers }) {
  const path = join(folder, new URL(url, 'http://any').pathname.slice(1))
  if (!existsSync(path)) return { status: 404, headers: { 'content-length': 0 } }
  let file
  try {
    file = openSync(path, 'r')
  } catch {
    return { status: 404, headers: { 'content-length': 0 } }
  }
  try {
    const { size, mtimeNs, ino } = fstatSync(file, { bigint: true })
    const [length, etag] = [Number(size), `"${mtimeNs}-${ino}-${size}"`]
    const common = { etag, 'accept-ranges': 'bytes' }
    if (headers['if-match'] !== undefined && headers['if-match'] !== etag)
      return { status: 412, headers: { 'content-length': 0 } }
    if (method === 'HEAD') return { status: 200, headers: { ...common, 'content-length': length } }
    const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? []
    const start = first === undefined ? 0 : first === '' ? Math.max(0, length - Number(last)) : Number(first)
    const end = !first || last === '' ? length : Math.min(Number(last) + 1, length)
    if (start >= end) return { status: 416, headers: { 'content-range': `bytes */${length}`, 'content-length': 0 } }
    const body = Buffer.alloc(end - start)
    readSync(file, body, 0, body.length, start)
    if (first === undefined) return { status: 200, headers: { ...common, 'content-length': length }, body }
    const range = { 'content-range': `bytes ${start}-${end - 1}/${length}`, 'content-length': body.length }
    return { status: 206, headers: { ...common, ...range }, body }
  } finally {
    closeSync(file)
  }
}

function events(journal) {
  if (!existsSync(journal)) return []
  const lines = readFileSync(journal, 'utf8').split('\n')
  // The last line may be incomplete.
  return lines.slice(0, -1).map((line) => {
    const [kind, ...rest] = line.split(' ')
    return { kind, rest: rest.join(' ') }
  })
}

const nextRow = (journal) => events(journal).filter(({ kind }) => kind === 'try').length

/** Returns for each column the number of attempted rows, and the acknowledged ones. */
function state(folder, columns) {
  return Array.from({ length: columns }, (_, column) => {
    const journal = events(join(folder, `writer-${column}.txt`))
    const done = new Set(journal.filter(({ kind }) => kind === 'done').map(({ rest }) => Number(rest)))
    return { done }
  })
}

function shortened(found) {
  const count = (kind) => found.filter((each) => each.startsWith(kind)).length
  return `${count('lost')} lost, ${count('half')} half: ${found.slice(0, 3).join('; ')}`
}

/** Returns the rows that are lost, partial, or present although never written. */
function compare(shared, own, columns, width) {
  const problems = []
  for (const [column, { done }] of columns.entries()) {
    for (let row = 0; row < ROWS; row++) {
      const [a, b] = [shared[row * width + column], own[column * ROWS + row]]
      if (a === row + 1 && b === row + 1) continue
      if (a === 0 && b === 0 && !done.has(row)) continue
      problems.push(`${a === b ? 'lost' : 'half'}: row ${row} of writer ${column} is ${a} and ${b}`)
    }
  }
  return problems
}

/**
 * Reads everything and compares it with the operations acknowledged before; retried while other processes
 * interfere.
 */
async function judge(place, folder, columns, noted = () => {}) {
  const before = state(folder, columns)
  return attempted(async () => {
    const file = await open(place)
    try {
      const shared = (await file.array('shared', 'uint16').get([null, null])).data
      const own = (await file.array('own', 'uint16').get([null, null])).data
      const found = compare(shared, own, before, columns)
      if (found.length > 0) throw new Error(shortened(found))
    } finally {
      await file.close()
    }
  }, noted)
}

/** Retries work after each conflict; other failures are reported. */
async function attempted(work, noted = () => {}, next = Math.random) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      await work(attempt)
      return []
    } catch (error) {
      if (!isHyperslabError(error, 'ConflictError')) return [oneLine(error)]
      noted('conflict')
      await pause(PAUSE * 2 ** Math.min(attempt, 6) * next())
    }
  }
  return [`${ATTEMPTS} conflicts`]
}

const oneLine = (error) => String(error?.message ?? error).replaceAll('\n', ' ')

/** Runs one flush with a new handle. */
async function append(path, journal, column) {
  const row = nextRow(journal)
  if (row >= ROWS) return
  appendFileSync(journal, `try ${row}\n`)
  const file = await open(path)
  try {
    await flush(file, row, column)
    appendFileSync(journal, `done ${row}\n`)
  } finally {
    await file.close()
  }
}

/** Compacts, and retries after each conflict. */
const compact = (file, noted, next) =>
  attempted(
    () => {
      noted('compact')
      return file.compact()
    },
    noted,
    next,
  )

/**
 * Writes a row and flushes it, and retries after each conflict. A write reads chunks that other processes may
 * have compacted away.
 */
async function flush(file, row, column, noted, next) {
  const problems = await attempted(
    async (attempt) => {
      if (attempt > 0) await file.refresh()
      await file.array('shared').set([row, column], row + 1)
      await file.array('own').set([column, row], row + 1)
      noted?.('flush')
      await file.flush()
    },
    noted,
    next,
  )
  if (problems.length > 0) throw new Error(problems.join())
}

const ROLES = {
  /** `compacts` makes it compact after each flush. */
  async writer({ place, number, note, next, isOver, journal, compacts }) {
    let file
    for (let row = nextRow(journal); row < ROWS && !isOver(); row++) {
      note(`try ${row}`)
      if (file === undefined) {
        const problems = await attempted(async () => {
          file = await open(place)
        }, note)
        if (problems.length > 0) return note(`problem opening: ${problems.join()}`)
      }
      try {
        await flush(file, row, number, note, next)
      } catch (error) {
        return note(`problem flushing row ${row}: ${oneLine(error)}`)
      }
      note(`done ${row}`)
      if (compacts) {
        const problems = await compact(file, note, next)
        note(problems.length > 0 ? `problem compacting after row ${row}: ${problems.join()}` : 'compacted')
      }
      // Sometimes uses a new handle without any state.
      if (next() < 0.2) {
        await file.close()
        file = undefined
      }
    }
    await file?.close()
  },

  async compactor({ place, note, next, isOver }) {
    while (!isOver()) {
      const problems = await attempted(
        async () => {
          const file = await open(place)
          try {
            note('compact')
            await file.compact()
          } finally {
            await file.close()
          }
        },
        note,
        next,
      )
      note(problems.length > 0 ? `problem compacting: ${problems.join()}` : 'done')
      await pause(50 * next())
    }
  },

  async reader({ place, note, isOver, folder, columns }) {
    while (!isOver()) {
      const problems = await judge(place, folder, columns, note)
      note(problems.length > 0 ? `problem ${problems.join()}` : 'done')
    }
  },
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [role, place, journal, number, seed, compacts] = process.argv.slice(2)
  const file = openSync(journal, 'a')
  let over = false
  process.once('SIGTERM', () => {
    over = true
  })
  console.log('ready')
  await ROLES[role]({
    place,
    journal,
    folder: resolve(journal, '..'),
    columns: Number(process.env.HYPERSLAB_COLUMNS),
    number: Number(number),
    compacts: compacts === 'true',
    note: (line) => writeSync(file, `${line}\n`),
    next: random(Number(seed)),
    isOver: () => over,
  })
  process.exit()
}
