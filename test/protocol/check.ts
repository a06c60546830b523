import {
  begin,
  bitOf,
  crateView,
  type File,
  type Flaw,
  file,
  isDone,
  type Objects,
  type Op,
  type Process,
  type Profile,
  Protocol,
  packed,
  type Stats,
  type Step,
  view,
} from './model.ts'

export interface Actor extends Pick<Process, 'role' | 'turn'> {
  /** Begins when this one, by its place in the list, is done. */
  readonly after?: number
}

export interface Scenario {
  readonly name: string
  readonly profile: Profile
  readonly flaw?: Flaw
  /** The base, and the layers from 1. */
  readonly objects: Objects
  /** Elements that were acknowledged before. */
  readonly acknowledged?: number
  readonly processes: readonly Actor[]
  /** Restarts of a process after conflicts. Default: no limit. */
  readonly tries?: number
  /** Restarts of a compactor; more of them are an error. Default: as many as for others. */
  readonly rounds?: number
  /** Interruptions of a process that could continue. Default: no limit. */
  readonly switches?: number
  /** Statistics are kept, too. */
  readonly stats?: boolean
  /** Requests that go wrong; holders of the lock that are stopped. */
  readonly faults?: number
  readonly crashes?: number
  /** Sessions of the crate, one after another, after turn 1. */
  readonly crate?: readonly ('flush' | 'compact')[]
  /** The crate may have its turn while requests are under way whose senders have given up. */
  readonly unsettled?: boolean
  /** Option of writers and compactors, as in `Protocol`. */
  readonly looksAgain?: boolean
  /**
   * The crate may have its turn while a dead layer of ours is there that was published after its base had
   * been replaced.
   */
  readonly strays?: boolean
  /** States after which the search gives up with an error. */
  readonly limit?: number
}

export interface Verdict {
  readonly states: number
  /** The rule that does not hold, and the steps that lead to it. */
  readonly broken?: string
  readonly steps?: readonly string[]
}

interface State {
  readonly objects: Objects
  readonly processes: readonly Process[]
  /** Requests whose senders have given up, which may still be carried out. */
  readonly late: readonly Op[]
  readonly acknowledged: number
  /** Elements that were replaced together with their container. */
  readonly forgotten: number
  readonly faults: number
  readonly crashes: number
  /** 1, then 2 after the crate. */
  readonly turn: number
  /** For each reader under way, the states since it began. */
  readonly seen: readonly (readonly number[])[]
  /**
   * Layers of ours that were published after their base had been replaced, and those of a container that was,
   * until they are removed.
   */
  readonly strays: readonly File[]
  readonly stats: Stats | undefined
  /** Process that has the lock, and processes that have looked at the object they are about to change. */
  readonly lock: number | undefined
  readonly holding: readonly boolean[]
  /** Running process, and its remaining interruptions if these are limited. */
  readonly current: number | undefined
  readonly switches: number
  /** A compactor has started anew too often. */
  readonly unending: boolean
}

/** Next state after a step, with its label. The label is built on demand, which is rare. */
type Successor = readonly [label: () => string, state: State]

/** Roles that write an element. */
const WRITING: readonly Process['role'][] = ['writer', 'sealer', 'restorer']

/** Elements that the crate writes. */
const CRATE_BIT = 8

/** All interleavings of a scenario, depth first; the first broken invariant ends it. */
export function check(scenario: Scenario): Verdict {
  const checker = new Checker(scenario)
  return checker.run()
}

class Checker {
  readonly #scenario: Scenario
  readonly #protocol: Protocol
  readonly #fingerprints: Fingerprints
  readonly #known = new KnownStates()

  constructor(scenario: Scenario) {
    this.#scenario = scenario
    this.#fingerprints = new Fingerprints(scenario.processes)
    this.#protocol = new Protocol(scenario.profile, scenario.flaw, scenario.looksAgain, scenario.stats)
  }

  run(): Verdict {
    const { objects, processes, tries = Number.POSITIVE_INFINITY, acknowledged = 0, faults = 0, crashes = 0 } = this.#scenario
    const { rounds = tries } = this.#scenario
    const { top, own, shared } = view(objects)
    const stats = this.#scenario.stats ? { base: objects[0]!, newest: objects[top]!, value: packed({ own, shared }) } : undefined
    const first: State = {
      objects,
      processes: processes.map((each, i) =>
        begin({ ...each, bit: WRITING.includes(each.role) ? bitOf(i) : 0 }, each.role === 'compactor' ? rounds : tries),
      ),
      late: [],
      acknowledged,
      forgotten: 0,
      faults,
      crashes,
      turn: 1,
      seen: processes.map(() => []),
      strays: [],
      stats,
      lock: undefined,
      holding: processes.map(() => false),
      current: undefined,
      switches: this.#scenario.switches ?? 0,
      unending: false,
    }
    const path: {
      readonly label: () => string
      readonly high: number
      readonly low: number
      readonly next: Iterator<Successor>
    }[] = []
    const enter = (label: () => string, state: State): string | undefined => {
      this.#fingerprints.take(state)
      const { high, low } = this.#fingerprints
      const known = this.#known.enter(high, low)
      if (known === OPEN) return `${label()}: the same state again, and nobody has got on`
      if (known === CLOSED) return undefined
      const broken = this.#broken(state)
      if (broken !== undefined) return `${label()}: ${broken}`
      path.push({ label, high, low, next: this.#successors(state) })
      return undefined
    }
    let broken = enter(() => 'begin', watched(first))
    const { limit = Number.POSITIVE_INFINITY } = this.#scenario
    while (broken === undefined && path.length > 0) {
      if (this.#known.size > limit) throw new Error(`${this.#scenario.name} has more than ${limit} states`)
      const { high, low, next } = path.at(-1)!
      const { done, value } = next.next()
      if (!done) broken = enter(...(value as Successor))
      else {
        this.#known.close(high, low)
        path.pop()
      }
    }
    const states = this.#known.size
    return broken === undefined ? { states } : { states, broken, steps: path.map(({ label }) => label()) }
  }

  *#successors(before: State): Generator<Successor> {
    let active = false
    for (const [i, p] of before.processes.entries()) {
      const { after: first } = this.#scenario.processes[i]!
      if (p.turn > before.turn || isDone(p) || (first !== undefined && !isDone(before.processes[first]!))) continue
      const state = this.#switched(before, i)
      if (state === undefined) continue
      const name = `${p.role} ${i}`
      for (const { op, next } of this.#protocol.steps(p)) {
        active = true
        const label = (outcome: string) => () => `${name} ${p.at}: ${describe(op)} → ${outcome}`
        if (this.#isLocked(op)) {
          yield* this.#locked(state, i, op, next, label)
          continue
        }
        const { state: after, answer } = this.#apply(state, op)
        for (const q of next(answer, after.objects)) yield [label(answer), this.#moved(after, i, q, isDone(q))]
        if (state.faults === 0 || (op.do !== 'put' && op.do !== 'remove')) continue
        const faulty = { ...state, faults: state.faults - 1 }
        for (const q of next('error', state.objects)) {
          yield [label('fails'), this.#moved(faulty, i, q)]
          if (answer === 'ok') yield [label('done, but reported failed'), this.#moved(this.#apply(faulty, op).state, i, q)]
          if (this.#scenario.profile.late)
            yield [label('given up, under way'), this.#moved({ ...faulty, late: [...state.late, op] }, i, q)]
        }
      }
      if (state.crashes > 0 && p.at !== 'begin' && !isReader(p))
        yield [() => `${name} crashes`, this.#moved({ ...state, crashes: state.crashes - 1 }, i, { ...begin(p, -1) })]
    }
    const state = before
    for (const [i, op] of state.late.entries()) {
      const { state: after, answer } = this.#apply({ ...state, late: state.late.filter((_, j) => j !== i) }, op)
      yield [() => `late: ${describe(op)} → ${answer}`, watched(after)]
    }
    if (active || state.turn > 1 || (state.late.length > 0 && this.#scenario.unsettled !== true)) return
    if (this.#isStrayed(state) && this.#scenario.strays !== true) return
    yield [() => 'the crate', watched(this.#crate(state))]
  }

  /** The state in which process `i` runs; undefined where it may not interrupt another. */
  #switched(state: State, i: number): State | undefined {
    if (this.#scenario.switches === undefined || state.current === i) return state
    const interrupts = state.current !== undefined && !isDone(state.processes[state.current]!)
    if (interrupts && state.switches === 0) return undefined
    return { ...state, current: i, switches: state.switches - Number(interrupts) }
  }

  #isLocked(op: Op): boolean {
    return this.#scenario.profile.lease === true && (op.do === 'remove' || (op.do === 'put' && op.over !== undefined))
  }

  /**
   * A change under the lock: the process looks first and changes then, unless another one has taken the lock
   * over.
   */
  *#locked(state: State, i: number, op: Op, next: Step['next'], label: (outcome: string) => () => string): Generator<Successor> {
    if (!state.holding[i]) {
      // A dead process does not return. A live one that is stopped for as long as the lease counts as a
      // fault.
      const stopped = state.lock !== undefined && !isDone(state.processes[state.lock]!)
      if (stopped && state.faults === 0) return
      const taken = { ...state, faults: state.faults - Number(stopped), lock: i }
      const { answer } = this.#apply(taken, op)
      if (answer === 'ok') yield [label('locked'), watched({ ...taken, holding: state.holding.with(i, true) })]
      else {
        const free = { ...taken, lock: undefined }
        for (const q of next('conflict', state.objects)) yield [label('conflict'), this.#moved(free, i, q, isDone(q))]
      }
      return
    }
    const holding = state.holding.with(i, false)
    if (state.lock === i || this.#scenario.flaw === 'no look at the lock') {
      const lock = state.lock === i ? undefined : state.lock
      const { state: after } = this.#apply({ ...state, holding, lock }, op, { blindly: true })
      for (const q of next('ok', after.objects)) yield [label('ok'), this.#moved(after, i, q, isDone(q))]
    } else {
      for (const q of next('error', state.objects))
        yield [label('the lock was taken over'), this.#moved({ ...state, holding }, i, q, isDone(q))]
    }
  }

  /**
   * @param endsHere the process has no further step, which of a compactor that did not come to its end is too
   *   early
   */
  #moved(state: State, i: number, p: Process, endsHere = false): State {
    // A value that a reader returned and that never was the state stays in the process, so that the check
    // finds it.
    const isWrong = p.at === 'read' && !state.seen[i]!.includes(p.result!) && p.result !== packed(view(state.objects))
    const isOver = !isWrong && (p.at === 'read' || p.at === 'acknowledged' || this.#protocol.steps(p).length === 0)
    const processes = state.processes.with(i, isOver ? begin(p, -1) : p)
    const acknowledged = p.at === 'acknowledged' ? state.acknowledged | p.bit : state.acknowledged
    // A reader that starts anew began long before: it may give any state since then.
    const seen = isReader(p) && !isOver ? state.seen : state.seen.with(i, [])
    const unending = endsHere && this.#scenario.rounds !== undefined && p.role === 'compactor'
    // A process that is done is not interrupted.
    const current = isOver ? undefined : state.current
    return watched({ ...state, processes, acknowledged, seen, unending, current })
  }

  /** @param blindly whatever is there: the condition was looked at before */
  #apply(state: State, op: Op, { blindly = false } = {}): { readonly state: State; readonly answer: 'ok' | 'conflict' } {
    if (op.do === 'look' || op.do === 'get') return { state, answer: 'ok' }
    if (op.do === 'stats') return { state: { ...state, stats: op.stats }, answer: 'ok' }
    const there = state.objects[op.number]
    const expected = op.do === 'put' ? op.over : op.file
    if (!blindly && expected !== 'any' && there !== expected) return { state, answer: 'conflict' }
    const objects = Array.from({ length: Math.max(state.objects.length, op.number + 1) }, (_, i) => state.objects[i])
    objects[op.number] = op.do === 'put' ? op.file : undefined
    while (objects.at(-1) === undefined) objects.pop()
    const resets = op.do === 'put' && op.resets === true
    const layers = objects.slice(1).filter((each) => each !== undefined)
    // So is what it is made void by: it may lie above a gap.
    const stray = op.do === 'put' && (op.file.on !== undefined ? op.file.on !== objects[0] : state.strays.includes(there!))
    return {
      state: {
        ...state,
        objects,
        late: op.number === 0 ? state.late.filter((each) => mayHappen(each, objects[0])) : state.late,
        acknowledged: resets ? 0 : state.acknowledged,
        forgotten: resets ? state.forgotten | state.acknowledged : state.forgotten,
        strays: [...(resets ? layers : state.strays), ...(stray ? [op.file] : [])].filter((each) => objects.includes(each)),
      },
      answer: 'ok',
    }
  }

  /** Sessions of the crate, each of which opens the container anew. */
  #crate(state: State): State {
    let { objects, acknowledged } = state
    for (const [i, session] of (this.#scenario.crate ?? []).entries()) {
      const { own, shared, count } = crateView(objects)
      if (session === 'compact') objects = [file('base', { own, shared })]
      else {
        const bit = bitOf(CRATE_BIT + i)
        const next = [...objects]
        // The crate cannot know the part that a stray layer hides from it, so it writes another chunk.
        const whole = this.#isStrayed(state) ? view(objects).shared : shared
        next[count] = file('crate', { own: bit, shared: whole | bit })
        objects = Array.from(next)
        acknowledged |= bit
      }
    }
    return { ...state, turn: 2, objects, acknowledged }
  }

  #isStrayed({ objects, strays }: State): boolean {
    return strays.some((each) => objects.includes(each))
  }

  #broken(state: State): string | undefined {
    const { objects, acknowledged, forgotten, processes, stats } = state
    const { own, shared, top } = view(objects)
    if (state.unending) return `a compactor has started anew more than ${this.#scenario.rounds} times`
    if (stats?.base === objects[0] && stats?.newest === objects[top] && stats?.value !== packed({ own, shared }))
      return `statistics that name the state say ${bits(stats!.value >> 12)} and ${bits(stats!.value & 0xfff)}`
    if (own !== shared) return `half a flush is seen: ${bits(own)} and ${bits(shared)}`
    if ((own & acknowledged) !== acknowledged) return `acknowledged was ${bits(acknowledged)}, there is ${bits(own)}`
    if ((own & forgotten) !== 0) return `what was replaced is back: ${bits(own & forgotten)}`
    for (const [i, p] of processes.entries())
      if (p.at === 'read')
        return `${p.role} ${i} has read ${bits(p.result! >> 12)} and ${bits(p.result! & 0xfff)}, which was never the state`
    if (processes.some((p) => p.turn <= state.turn && !isDone(p))) return undefined
    if (state.late.length > 0) return undefined
    // All processes are done, so that this state stays until another one comes.
    if (this.#isStrayed(state) || this.#scenario.flaw === 'old') return undefined
    const gap = objects.indexOf(undefined)
    if (gap >= 0) return `number ${gap} is missing below number ${objects.length - 1}`
    // The crate of layers cannot read it.
    if (objects[0]!.kind === 'immutable') return undefined
    const crate = crateView(objects)
    if (packed(crate) !== packed({ own, shared })) return `the crate reads ${bits(crate.own)} and ${bits(crate.shared)}`
    if (stats !== undefined && stats.value !== packed(crate)) return 'the crate reads statistics of another state'
    return undefined
  }
}

/** A base that was replaced never comes back: what was to replace it is refused from then on. */
const mayHappen = (op: Op, base: File | undefined): boolean =>
  op.do !== 'put' || op.number > 0 || op.over === base || op.over === 'any'

const isReader = ({ role }: Process): boolean => role === 'reader' || role === 'prober'

/** The state that there is now is one that readers under way may give. */
function watched(state: State): State {
  const value = packed(view(state.objects))
  const seen = state.seen.map((values, i) => {
    const p = state.processes[i]!
    if (!isReader(p) || isDone(p) || p.at === 'begin') return values
    // A reader that has read all layers can return nothing else.
    if (p.result !== undefined) return values.includes(p.result) || value === p.result ? [p.result] : []
    return values.includes(value) ? values : [...values, value]
  })
  return { ...state, seen }
}

const bits = (mask: number): string =>
  `{${Array.from({ length: 12 }, (_, i) => i)
    .filter((i) => mask & bitOf(i))
    .join()}}`

function describe(op: Op): string {
  if (op.do === 'look') return 'look'
  if (op.do === 'get') return `get ${op.number}`
  if (op.do === 'stats') return op.stats === undefined ? 'remove statistics' : 'write statistics'
  if (op.do === 'remove') return `remove ${op.number}`
  const { kind, own, shared } = op.file
  return `put ${op.number}: ${kind} ${bits(own)} ${bits(shared)} ${op.over === undefined ? 'if absent' : op.over === 'any' ? '' : `over ${op.over.kind}`}`
}

/** Whether a state is new, the search is still below it, or it and all that follows from it hold. */
const [NEW, OPEN, CLOSED] = [0, 1, 2]

/** States by their fingerprints, in a table of open addressing, of nine bytes each. */
class KnownStates {
  size = 0
  #high = new Uint32Array(1 << 12)
  #low = new Uint32Array(1 << 12)
  #marks = new Uint8Array(1 << 12)

  /** @returns what is known of a state; one that is new is open from then on */
  enter(high: number, low: number): number {
    if (this.size > 0.7 * this.#marks.length) this.#grow()
    const slot = this.#slotOf(high, low)
    const mark = this.#marks[slot]!
    if (mark === NEW) {
      this.#put(slot, high, low, OPEN)
      this.size++
    }
    return mark
  }

  close(high: number, low: number): void {
    this.#marks[this.#slotOf(high, low)] = CLOSED
  }

  #put(slot: number, high: number, low: number, mark: number): void {
    this.#high[slot] = high
    this.#low[slot] = low
    this.#marks[slot] = mark
  }

  #slotOf(high: number, low: number): number {
    const last = this.#marks.length - 1
    let slot = low & last
    while (this.#marks[slot] !== NEW && (this.#low[slot] !== low || this.#high[slot] !== high)) slot = (slot + 1) & last
    return slot
  }

  #grow(): void {
    const [high, low, marks] = [this.#high, this.#low, this.#marks]
    this.#high = new Uint32Array(2 * marks.length)
    this.#low = new Uint32Array(2 * marks.length)
    this.#marks = new Uint8Array(2 * marks.length)
    for (let i = 0; i < marks.length; i++)
      if (marks[i] !== NEW) this.#put(this.#slotOf(high[i]!, low[i]!), high[i]!, low[i]!, marks[i]!)
  }
}

/**
 * Exchange of equal processes: for each place the process that takes it, and the elements by mask after the
 * exchange.
 */
interface Symmetry {
  readonly at: readonly number[]
  readonly mask: Uint16Array
}

/** Whether two processes do the same, and no other process waits for one of them. */
function areAlike(processes: readonly Actor[], a: number, b: number): boolean {
  const [one, other] = [processes[a]!, processes[b]!]
  if (one.role !== other.role || one.turn !== other.turn || one.after !== undefined || other.after !== undefined) return false
  return !processes.some(({ after }) => after === a || after === b)
}

/** All ways in which processes that are alike change places. */
function symmetriesOf(processes: readonly Actor[]): Symmetry[] {
  let orders: number[][] = [[]]
  for (const place of processes.keys())
    orders = orders.flatMap((order) =>
      [...processes.keys()]
        .filter((i) => !order.includes(i) && (i === place || areAlike(processes, i, place)))
        .map((i) => [...order, i]),
    )
  return orders.map((at) => ({
    at,
    mask: Uint16Array.from({ length: 4096 }, (_, mask) => {
      let moved = mask & ~((1 << at.length) - 1)
      for (const [place, i] of at.entries()) if (mask & bitOf(i)) moved |= bitOf(place)
      return moved
    }),
  }))
}

/**
 * States as 64 bits each, the same for states that differ in nothing but the order in which their files came
 * to be, or in which of several processes that are alike is which. Of 10^8 states two have the same bits with
 * a probability of 1 in 3700; a state would be passed over then.
 */
class Fingerprints {
  readonly #symmetries: readonly Symmetry[]
  /** Pairs of places whose processes are alike. */
  readonly #pairs: readonly (readonly [number, number])[]
  readonly #processes: number
  #codes = new Int32Array(1024)
  #length = 0
  #encoding = 0
  #files = 0
  #mask: Uint16Array = new Uint16Array()
  high = 0
  low = 0

  constructor(processes: readonly Actor[]) {
    this.#symmetries = symmetriesOf(processes)
    this.#pairs = processes.flatMap((_, b) =>
      [...processes.keys()].filter((a) => a < b && areAlike(processes, a, b)).map((a) => [a, b] as const),
    )
    this.#processes = processes.length
  }

  /** Leaves the least of all encodings in `high` and `low`. */
  take(state: State): void {
    let [high, low] = [-1, -1]
    const signatures = state.processes.map(signatureOf)
    for (const symmetry of this.#symmetries) {
      const { at } = symmetry
      // Among equal processes, the one with the lesser signature comes first. All orders are tried only where
      // signatures are equal.
      if (!this.#pairs.every(([a, b]) => signatures[at[a]!]! <= signatures[at[b]!]!)) continue
      this.#encode(state, symmetry)
      this.#hash()
      if (high >= 0 && (this.high > high || (this.high === high && this.low >= low))) continue
      high = this.high
      low = this.low
    }
    this.high = high
    this.low = low
  }

  #encode(state: State, { at, mask }: Symmetry): void {
    this.#length = 0
    this.#files = 0
    this.#encoding = ++encodings
    this.#mask = mask
    const { processes, late, strays, stats } = state
    this.#add(state.objects.length)
    for (const each of state.objects) this.#file(each)
    for (let place = 0; place < this.#processes; place++) this.#process(processes[at[place]!]!)
    this.#add(late.length)
    for (const op of late) {
      if (op.do !== 'put' && op.do !== 'remove') continue
      this.#add(op.do === 'put' ? 1 : 2)
      this.#add(op.number)
      this.#file(op.file)
      if (op.do === 'put') this.#file(op.over)
    }
    for (let place = 0; place < this.#processes; place++) this.#seen(state.seen[at[place]!]!)
    this.#add(strays.length)
    for (const each of strays) this.#file(each)
    this.#add(stats === undefined ? 0 : 1)
    if (stats !== undefined) {
      this.#file(stats.base)
      this.#file(stats.newest)
      this.#packed(stats.value)
    }
    for (let place = 0; place < this.#processes; place++) {
      const i = at[place]!
      this.#add(Number(state.current === i) | (Number(state.lock === i) << 1) | (Number(state.holding[i]) << 2))
    }
    this.#add(state.switches)
    this.#add(Number(state.unending))
    this.#add(mask[state.acknowledged]!)
    this.#add(mask[state.forgotten]!)
    this.#add((state.faults << 16) | (state.crashes << 8) | state.turn)
  }

  #process(p: Process): void {
    this.#add(stepNumber(p.at))
    this.#add(Number.isFinite(p.tries) ? p.tries + 1 : 0)
    if (isDone(p)) return
    this.#file(p.base)
    this.#file(p.mine)
    this.#add(p.top ?? 0)
    this.#add(this.#mask[p.own ?? 0]!)
    this.#add(this.#mask[p.shared ?? 0]!)
    this.#add(p.merged ?? 0)
    this.#packed(p.result ?? 0)
    for (const list of [p.above, p.got]) {
      this.#add(list === undefined ? 0 : list.length + 1)
      if (list === undefined) continue
      for (const [number, each] of list) {
        this.#add(number)
        this.#file(each)
      }
    }
    for (const list of [p.gaps, p.todo]) {
      this.#add(list === undefined ? 0 : list.length + 1)
      if (list !== undefined) for (const number of list) this.#add(number)
    }
  }

  #file(each: File | undefined | 'any'): void {
    if (each === undefined || each === 'any') {
      this.#add(each === undefined ? 0 : 1)
      return
    }
    if (each.encoding === this.#encoding) {
      this.#add(each.place)
      return
    }
    each.encoding = this.#encoding
    each.place = 2 + this.#files++
    this.#add(each.place)
    this.#add(KINDS.indexOf(each.kind))
    this.#add(this.#mask[each.own]!)
    this.#add(this.#mask[each.shared]!)
    this.#add(each.merged)
    this.#file(each.on)
  }

  #packed(value: number): void {
    this.#add((this.#mask[value >> 12]! << 12) | this.#mask[value & 0xfff]!)
  }

  #seen(values: readonly number[]): void {
    this.#add(values.length)
    if (values.length === 0) return
    const start = this.#length
    for (const value of values) this.#packed(value)
    this.#codes.subarray(start, this.#length).sort()
  }

  #add(code: number): void {
    this.#codes[this.#length++] = code
  }

  /** Two of the 32-bit hashes that MurmurHash3 has, of different seeds, each mixed with the other at last. */
  #hash(): void {
    if (this.#length > this.#codes.length) throw new Error(`a state of ${this.#length} numbers`)
    let [a, b] = [0x243f6a88, 0x85a308d3]
    for (let i = 0; i < this.#length; i++) {
      const code = this.#codes[i]!
      let k = Math.imul(code, 0xcc9e2d51)
      k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
      a ^= k
      a = (Math.imul((a << 13) | (a >>> 19), 5) + 0xe6546b64) | 0
      k = Math.imul(code, 0x239b961b)
      k = Math.imul((k << 16) | (k >>> 16), 0xab0e9789)
      b ^= k
      b = (Math.imul((b << 11) | (b >>> 21), 5) + 0x561ccd1b) | 0
    }
    a = (mixed(a ^ this.#length) + b) | 0
    b = (mixed(b ^ this.#length) + a) | 0
    this.high = mixed(a) >>> 0
    this.low = mixed(b) >>> 0
  }
}

/** Number of encodings by all checkers. It distinguishes the numbers of files. */
let encodings = 0

function mixed(hash: number): number {
  let h = hash
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

/** Signature that orders most pairs of equal processes. It does not depend on their places. */
const signatureOf = (p: Process): number =>
  isDone(p) ? 0 : (stepNumber(p.at) << 12) | ((p.tries & 15) << 8) | ((p.top ?? 0) << 4) | (p.above?.length ?? 0)

const KINDS = ['base', 'initial', 'layer', 'closed', 'void', 'crate', 'immutable']
const stepNumbers = new Map<string, number>()

function stepNumber(at: string): number {
  const known = stepNumbers.get(at)
  if (known !== undefined) return known
  stepNumbers.set(at, stepNumbers.size)
  return stepNumbers.size - 1
}
