/**
 * The protocol of docs/commit-protocol.md as an explicit-state machine. A file is what the protocol knows of
 * it; a process is a step machine each of whose steps is one operation of the store. Elements are bits: each
 * flush writes an element in a chunk of its own (`own`), and one in a chunk that all share (`shared`), of
 * which a layer holds the whole as its writer read it, so that an old layer on top hides what is newer.
 */

export type Kind = 'base' | 'initial' | 'layer' | 'closed' | 'void' | 'crate' | 'immutable'

/**
 * An object of the store; one value for each publication, so that the identity of the object is version and
 * id at once.
 */
export interface File {
  readonly kind: Kind
  /** The base that a layer names; layers of the crate name none. */
  readonly on: File | undefined
  readonly own: number
  readonly shared: number
  /**
   * Numbers that a base lists as merged, as bits. Ids of the crate's layers are taken as equal: the worst
   * case.
   */
  readonly merged: number
  /**
   * Number of the file in the encoding of a state, and the number of that encoding. Only the checker uses
   * them.
   */
  encoding: number
  place: number
}

/** Objects by number; 0 is the base. */
export type Objects = readonly (File | undefined)[]

export interface Profile {
  readonly replace: boolean
  readonly remove: boolean
  /** Requests may be carried out after their sender has given up. */
  readonly late: boolean
  /**
   * Conditions hold under a lock with a lease: a change is looked at first and carried out then; who has the
   * lock may be taken for dead at any moment, and finds that out right before it does anything. Publishing if
   * absent is one system call, without a lock.
   */
  readonly lease?: boolean
}

export const PROFILES = {
  /** Memory, and S3 where deletes take conditions. */
  conditions: { replace: true, remove: true, late: true },
  /** R2, and S3 where they do not. */
  noDelete: { replace: true, remove: false, late: true },
  /** Files and OPFS: system calls under a lock are carried out or not. */
  lock: { replace: true, remove: true, late: false },
  /** The same where holders of the lock are stopped, and others take it over. */
  lease: { replace: true, remove: true, late: false, lease: true },
  /** A server that honours nothing but `If-None-Match`. */
  neither: { replace: false, remove: false, late: true },
} satisfies Record<string, Profile>

/** Rules that the protocol can leave out, so that the checker must find the resulting error. */
export type Flaw =
  | 'old'
  | 'look after the base'
  | 'no second look'
  | 'no third look'
  | 'early base unconfirmed'
  | 'no close'
  | 'no confirmation'
  | 'void descending'
  | 'forget merged'
  | 'remove listed'
  | 'clean under any base'
  | 'no look at the lock'
  | 'statistics stay'
  | 'no look after statistics'

/**
 * `look` lists and opens everything at one moment, for writers; that readers, who take several, see the state
 * of one moment is checked apart. `over` and `file` are the version that must be there, `'any'` where the old
 * protocol does not ask.
 */
export type Op =
  | { readonly do: 'look' }
  | { readonly do: 'get'; readonly number: number }
  | {
      readonly do: 'put'
      readonly number: number
      readonly file: File
      readonly over: File | undefined | 'any'
      /** Replaces the whole container. */
      readonly resets?: boolean
    }
  | { readonly do: 'remove'; readonly number: number; readonly file: File | 'any' }
  /** Statistics are written, or removed, whatever is there. */
  | { readonly do: 'stats'; readonly stats: Stats | undefined }

/**
 * Contents of `x.stats`: the base and the newest live layer that name the state, and their sum as `packed`
 * returns it.
 */
export interface Stats {
  readonly base: File
  readonly newest: File
  readonly value: number
}

export type Answer = 'ok' | 'conflict' | 'error'

/**
 * Operation of a step, and the next processes for each answer: to the objects it looked at, or to a change.
 */
export interface Step {
  readonly op: Op
  readonly next: (answer: Answer, objects: Objects) => Process[]
}

export interface Process {
  /**
   * A sealer puts a file of footer version 6 in the place of the base, whatever is there; a restorer puts a
   * base there.
   */
  readonly role: 'writer' | 'compactor' | 'reader' | 'prober' | 'creator' | 'sealer' | 'restorer'
  /** Next step; `done` at the end. */
  readonly at: string
  /** The turn, of those before and after the crate's, in which it runs. */
  readonly turn: number
  /** The element that it writes. */
  readonly bit: number
  /** Remaining restarts; the process gives up then. */
  readonly tries: number
  readonly base?: File | undefined
  /** The highest live layer, and what lies above: number and file. */
  readonly top?: number
  readonly above?: readonly (readonly [number, File])[] | undefined
  readonly own?: number | undefined
  readonly shared?: number | undefined
  readonly merged?: number | undefined
  readonly gaps?: readonly number[] | undefined
  /** Files that a reader has opened, and numbers that it has still to open or to look at again. */
  readonly mine?: File | undefined
  /** A reader: what it has opened, what it has still to open or to look at again. */
  readonly got?: readonly (readonly [number, File | undefined])[]
  readonly todo?: readonly number[]
  /** Result of a reader, as `packed` returns it. */
  readonly result?: number
}

export const begin = (p: Pick<Process, 'role' | 'turn' | 'bit'>, tries: number): Process => ({
  role: p.role,
  at: tries < 0 ? 'done' : 'begin',
  turn: p.turn,
  bit: p.bit,
  tries,
})

export const isDone = ({ at }: Process): boolean => at === 'done'

/** A state as one number. */
export const packed = ({ own, shared }: { readonly own: number; readonly shared: number }): number => (own << 12) | shared

export const bitOf = (number: number): number => 1 << number

export const file = (kind: Kind, rest: Partial<File> = {}): File => ({
  kind,
  on: undefined,
  own: 0,
  shared: 0,
  merged: 0,
  encoding: 0,
  place: 0,
  ...rest,
})

/** Whether a layer counts on a base. */
function isLive(number: number, layer: File | undefined, base: File): boolean {
  if (layer === undefined || layer.kind === 'void' || base.kind === 'immutable') return false
  return layer.kind === 'crate' ? (base.merged & bitOf(number)) === 0 : layer.on === base
}

export interface View {
  readonly own: number
  readonly shared: number
  /** The highest live layer. */
  readonly top: number
  /** The closed layer, 0 when the state is not closed. */
  readonly closed: number
}

/** Returns the state of a base with its layers, up to the layer `last`. */
export function view(objects: Objects, last = Number.POSITIVE_INFINITY): View {
  const base = objects[0]!
  let { own, shared } = base
  let [top, closed] = [0, 0]
  for (let number = 1; number < objects.length && number <= last; number++) {
    const layer = objects[number]
    if (!isLive(number, layer, base)) continue
    top = number
    if (layer!.kind === 'closed') closed = number
    else {
      own |= layer!.own
      shared = layer!.shared
    }
  }
  return { own, shared, top, closed }
}

/** Returns the state as the crate reads it: it takes every file, whatever base the file names. */
export function crateView(objects: Objects): { own: number; shared: number; count: number } {
  let { own, shared } = objects[0]!
  let count = 1
  for (const layer of objects.slice(1)) {
    if (layer === undefined) continue
    count++
    own |= layer.own
    if (layer.own !== 0) shared = layer.shared
  }
  return { own, shared, count }
}

/** Steps of the processes. The class is stateless, as `Process` holds all that a process knows. */
export class Protocol {
  readonly #profile: Profile
  readonly #flaw: Flaw | undefined
  readonly #looksAgain: boolean
  readonly #keepsStats: boolean

  /**
   * @param looksAgain a flush looks again at what lies above before it publishes; else it goes by what it has
   *   read
   * @param keepsStats writers and compactors keep statistics, too
   */
  constructor(profile: Profile, flaw?: Flaw, looksAgain = true, keepsStats = false) {
    this.#profile = profile
    this.#flaw = flaw
    this.#looksAgain = looksAgain
    this.#keepsStats = keepsStats
  }

  /**
   * The next steps that a process may take: several for a reader, which opens layers in any order; none at
   * its end.
   */
  steps(p: Process): Step[] {
    if (isDone(p)) return []
    if (p.role === 'reader' || p.role === 'prober') return this.#reading(p)
    if (p.role === 'sealer' || p.role === 'restorer') {
      const whole = file(p.role === 'sealer' ? 'immutable' : 'base', { own: p.bit, shared: p.bit })
      return [put(0, whole, 'any', () => [{ ...p, at: 'acknowledged' }], true)]
    }
    const step = this.#flaw === 'old' ? this.#old(p) : this.#step(p)
    return step === undefined ? [] : [step]
  }

  #step(p: Process): Step | undefined {
    switch (p.at) {
      case 'done':
        return undefined
      case 'begin':
        return look((objects) => [this.#begun(p, objects)])
      case 'look':
        return look((objects) => this.#looked(p, objects, 'confirm'))
      case 'confirm':
        return get(0, (base) => (base === p.base ? [{ ...p, at: 'void' }] : anew(p)))
      case 'confirm first':
        return get(0, (base) => (base === p.base ? [{ ...p, at: 'look last' }] : anew(p)))
      case 'look last':
        return look((objects) => this.#looked(p, objects, 'void'))
      case 'void':
        return this.#void(p, 'trim')
      case 'trim':
        return this.#trim(p)
      case 'fill':
        return this.#fill(p)
      case 'forget':
        return stats(undefined, { ...p, at: 'publish' })
      case 'publish':
        return this.#publish(p)
      case 'settle':
        // The number is taken: by this process itself, if an answer was lost, or by another one.
        return get(target(p), (there) => (there === p.mine ? [this.#published(p)] : anew(p)))
      case 'acknowledge':
        return get(0, (base) => [base === p.base || this.#flaw === 'no confirmation' ? this.#acknowledged(p) : cleaning(p)])
      case 'stats: see':
        return look((objects) => {
          const { own, shared, top } = view(objects)
          return [{ ...p, at: 'stats: write', base: objects[0], mine: objects[top], top, own, shared }]
        })
      case 'stats: write': {
        const written = { base: p.base!, newest: p.mine!, value: packed({ own: p.own!, shared: p.shared! }) }
        if (this.#flaw === 'no look after statistics') return stats(written, ending(p))
        return stats(written, { ...p, at: 'stats: look' })
      }
      case 'stats: look':
        return get(p.top! + 1, (there) => [{ ...p, at: isLive(p.top! + 1, there, p.base!) ? 'stats: drop' : 'stats: base' }])
      case 'stats: base':
        return get(0, (base) => [base === p.base ? ending(p) : { ...p, at: 'stats: drop' }])
      case 'stats: drop':
        return stats(undefined, ending(p))
      case 'swap':
        return put(0, p.mine!, p.base, (answer) => {
          if (answer === 'error') return [p, ...anew(p)]
          // On a conflict another process has finished the swap, or an earlier request of this process.
          return [swapped(p)]
        })
      case 'reset':
        return put(0, p.mine!, p.base, (answer) => (answer === 'ok' ? [cleaning(p)] : anew(p)), true)
      case 'clean':
        return get(0, (base) => [base!.kind === 'immutable' ? ended(p) : { ...p, at: 'clean: look', base }])
      case 'clean: look':
        return look((objects) => [{ ...p, at: 'clean: base', above: present(objects, 0) }])
      case 'clean: base':
        // Under another base numbers may have been taken above those that were listed.
        return get(0, (base) => [
          base === p.base || this.#flaw === 'clean under any base'
            ? clearing(p, base!)
            : { ...p, at: 'clean: look', base, above: undefined },
        ])
      case 'clean: void':
        return this.#void(p, p.mine !== undefined && p.base === p.mine && p.merged !== 0 ? 'unlist' : 'remove')
      case 'unlist':
        return put(0, file('initial'), p.base, (answer) => [answer === 'ok' ? { ...p, at: 'remove', merged: 0 } : ended(p)])
      case 'remove':
        return this.#remove(p)
      default:
        throw new Error(`there is no step ${p.at}`)
    }
  }

  #begun(p: Process, objects: Objects): Process {
    const base = objects[0]!
    // It cannot be written to.
    if (base.kind === 'immutable') return ended(p)
    const closed = view(objects).closed
    // Layers that the crate appended above the closed layer are not merged.
    const { own, shared, top } = closed > 0 ? view(objects, closed - 1) : view(objects)
    let merged = 0
    for (let number = 1; number < objects.length; number++) {
      const layer = objects[number]
      if (layer?.kind !== 'crate') continue
      const contained = isLive(number, layer, base) ? number <= top : this.#flaw !== 'forget merged'
      if (p.role === 'creator' || contained) merged |= bitOf(number)
    }
    const begun: Process = { ...p, base, own, shared, top, merged }
    if (p.role === 'creator') return { ...begun, at: 'reset', mine: file('initial', { merged }) }
    if (closed > 0) return swapping(begun)
    if (p.role === 'compactor' && top === 0) return cleaning(p)
    if (this.#flaw === 'look after the base') return { ...begun, at: 'confirm first' }
    const isLayer = p.role === 'writer' && base.kind !== 'initial' && !this.#keepsStats
    if (isLayer) Object.assign(begun, { own: undefined, merged: undefined })
    return this.#looksAgain ? { ...begun, at: 'look' } : this.#looked(begun, objects, 'confirm')[0]!
  }

  #looked(p: Process, objects: Objects, next: string): Process[] {
    const above = present(objects, p.top!)
    if (above.some(([number, layer]) => isLive(number, layer, p.base!))) return anew(p)
    const gaps: number[] = []
    for (let number = 1; number < p.top!; number++) if (objects[number] === undefined) gaps.push(number)
    return [{ ...p, at: next, above, gaps }]
  }

  /** Makes the lowest dead layer void, until there is none. */
  #void(p: Process, next: string): Step | undefined {
    const dead = p.above!.filter(([, layer]) => layer.kind !== 'void')
    const chosen = this.#flaw === 'void descending' ? dead.at(-1) : dead[0]
    if (chosen === undefined) return this.#step({ ...p, at: next })
    const [number, over] = chosen
    const empty = file('void')
    const above = p.above!.map((each) => (each === chosen ? ([number, empty] as const) : each))
    return put(number, empty, over, (answer) => (answer === 'ok' ? [{ ...p, above }] : interrupted(p)))
  }

  /** Removes void ones from the top, as long as a number is missing below them. */
  #trim(p: Process): Step | undefined {
    const last = p.above!.at(-1)
    const gap = last !== undefined && last[0] - p.top! > p.above!.length
    if (!gap || !this.#profile.remove) return this.#fill({ ...p, at: 'fill' })
    const rest = { ...p, above: p.above!.slice(0, -1) }
    return remove(last[0], last[1], (answer) => (answer === 'ok' ? [rest] : anew(p)))
  }

  /** Puts void ones where numbers are missing below a live layer. */
  #fill(p: Process): Step {
    const [number, ...gaps] = p.gaps!
    if (number === undefined) {
      const mine = p.mine ?? toPublish(p)
      const ready = { ...p, mine, above: p.above!.filter(([each]) => each === target(p)), gaps: undefined }
      // A layer is all that its writer has to know.
      if (mine.kind === 'layer' && !this.#keepsStats)
        Object.assign(ready, { own: undefined, shared: undefined, merged: undefined })
      const forgets = this.#keepsStats && p.role === 'writer' && this.#flaw !== 'statistics stay'
      return this.#step({ ...ready, at: forgets ? 'forget' : 'publish' })!
    }
    return put(number, file('void'), undefined, (answer) => (answer === 'ok' ? [{ ...p, gaps }] : anew(p)))
  }

  #publish(p: Process): Step {
    if (p.role === 'compactor' && this.#flaw === 'no close') return this.#step(this.#published(p))!
    const number = target(p)
    const over = number === 0 ? p.base : p.above!.find(([each]) => each === number)?.[1]
    return put(number, p.mine!, over, (answer) => {
      if (answer === 'ok') return [this.#published(p)]
      if (answer === 'conflict') return [{ ...p, at: 'settle' }]
      // The same request again, or given up and begun anew.
      return [{ ...p, at: 'publish' }, ...anew(p)]
    })
  }

  /** Removes void ones from the top that the base does not list. */
  #remove(p: Process): Step | undefined {
    const last = p.above!.at(-1)
    const listed = this.#flaw === 'remove listed' ? 0 : p.merged!
    if (!this.#profile.remove || last === undefined || last[0] < p.top! || listed >= bitOf(last[0])) return this.#cleaned(p)
    const rest = { ...p, above: p.above!.slice(0, -1) }
    return remove(last[0], last[1], (answer) => (answer === 'ok' ? [rest] : interrupted(p)))
  }

  #cleaned(p: Process): Step | undefined {
    if (p.role === 'writer') return this.#step(anew(p)[0]!)
    return p.role === 'compactor' && this.#keepsStats ? this.#step({ ...p, at: 'stats: see' }) : undefined
  }

  #published(p: Process): Process {
    if (p.role === 'compactor') return swapping(p)
    // The process keeps its published state only if it writes statistics.
    if (p.base!.kind !== 'initial') return { ...(this.#keepsStats ? p : begin(p, p.tries)), at: 'acknowledge', base: p.base }
    return p.top! > 0 ? begin(p, p.tries) : this.#acknowledged(p)
  }

  /** A flush that is committed; its promise resolves when its statistics are written, too. */
  #acknowledged(p: Process): Process {
    if (!this.#keepsStats) return { ...p, at: 'acknowledged' }
    const number = target(p)
    return {
      ...p,
      at: 'stats: write',
      base: number === 0 ? p.mine : p.base,
      top: number,
      own: p.own! | p.bit,
      shared: p.shared! | p.bit,
    }
  }

  /**
   * Opens the base, and lists meanwhile, or probes then; opens the layers in any order. Confirms the base, or
   * opens the one that is there now; then looks again at what could have changed meanwhile.
   */
  #reading(p: Process): Step[] {
    const old = this.#flaw === 'old'
    const todo = p.todo ?? []
    switch (p.at) {
      case 'begin':
        if (old && p.role === 'reader')
          return [look((objects) => [this.#opening({ ...p, got: [], todo: present(objects, -1).map(([n]) => n) })])]
        if (old) return [get(0, (base) => [probing({ ...p, base }, 1)])]
        return [
          get(0, (base) => [
            wholeOr({ ...p, base, got: [] }, (read) => (p.role === 'reader' ? { ...read, at: 'list' } : probing(read, 1))),
          ]),
          ...(p.role === 'reader'
            ? [look((objects) => [{ ...p, at: 'early', got: [], todo: present(objects, 0).map(([n]) => n) }])]
            : []),
        ]
      case 'early':
        return [get(0, (base) => [wholeOr({ ...p, base }, (read) => this.#opening(read))])]
      case 'list':
        return [look((objects) => [this.#opening({ ...p, todo: present(objects, 0).map(([n]) => n) })])]
      case 'probe':
        return todo.map((number) =>
          get(number, (layer) => {
            if (layer === undefined) return [old ? readAll(p, p.base!) : { ...p, at: 'base', todo: [] }]
            return [probing({ ...p, got: [...p.got!, [number, layer]] }, number + 1)]
          }),
        )
      case 'open':
        return todo.map((number) =>
          get(number, (layer) => {
            const got = [...p.got!, [number, layer] as const].sort(([a], [b]) => a - b)
            return layer === undefined ? anew(p) : [this.#opening({ ...p, got, todo: todo.filter((each) => each !== number) })]
          }),
        )
      case 'base':
      case 'base anew':
        return [
          get(0, (there) => {
            const base = this.#flaw === 'early base unconfirmed' ? p.base : there
            if (p.at === 'base' && base !== p.base) return [{ ...p, at: 'base anew', base: undefined }]
            const { result } = readAll(p, base)
            return [looking({ ...p, base, result: result! }, this.#flaw === 'no second look' ? [] : doubtful(p.got!, base!))]
          }),
        ]
      case 'again': {
        const [number, ...rest] = todo
        const before = p.got!.find(([each]) => each === number)?.[1]
        const next =
          rest.length > 0 || this.#flaw === 'no third look'
            ? looking(p, rest)
            : { ...looking(p, rest), at: 'base again', base: p.base }
        return [get(number!, (layer) => (layer === before ? [next] : anew(p)))]
      }
      case 'base again':
        return [get(0, (base) => (base === p.base ? [looking(p, [])] : anew(p)))]
      default:
        // Has read: looks at nothing any more.
        return []
    }
  }

  #opening(p: Process): Process {
    if (p.todo!.length > 0) return { ...p, at: 'open' }
    return this.#flaw === 'old' ? readAll(p, p.got!.find(([number]) => number === 0)![1]) : { ...p, at: 'base' }
  }

  /** The protocol before this one: the base is replaced and layers are deleted by name. */
  #old(p: Process): Step | undefined {
    const top = p.top!
    switch (p.at) {
      case 'begin':
        return look((objects) => [{ ...p, at: 'publish', ...view(objects), mine: undefined }])
      case 'publish': {
        if (p.role === 'compactor') {
          const merged = file('base', { own: p.own!, shared: p.shared! })
          return put(0, merged, 'any', (answer) => [answer === 'ok' ? { ...p, at: 'delete', todo: upTo(top) } : ended(p)])
        }
        const layer = p.mine ?? file('crate', { own: p.bit, shared: p.shared! | p.bit })
        return put(top + 1, layer, undefined, (answer) => (answer === 'ok' ? [{ ...p, at: 'acknowledged' }] : anew(p)))
      }
      case 'delete': {
        const [number, ...rest] = p.todo!
        return number === undefined ? undefined : remove(number, 'any', () => [{ ...p, todo: rest }])
      }
      default:
        throw new Error(`there is no step ${p.at}`)
    }
  }
}

const look = (next: (objects: Objects) => Process[]): Step => ({ op: { do: 'look' }, next: (_, objects) => next(objects) })

const get = (number: number, next: (there: File | undefined) => Process[]): Step => ({
  op: { do: 'get', number },
  next: (_, objects) => next(objects[number]),
})

const put = (
  number: number,
  published: File,
  over: File | undefined | 'any',
  next: (answer: Answer) => Process[],
  resets = false,
): Step => ({ op: { do: 'put', number, file: published, over, resets }, next })

const remove = (number: number, removed: File | 'any', next: (answer: Answer) => Process[]): Step => ({
  op: { do: 'remove', number, file: removed },
  next,
})

const stats = (written: Stats | undefined, next: Process): Step => ({ op: { do: 'stats', stats: written }, next: () => [next] })

/** Statistics are the last thing that is done. */
const ending = (p: Process): Process => (p.role === 'writer' ? { ...p, at: 'acknowledged' } : ended(p))

const anew = (p: Process): Process[] => [begin(p, p.tries - 1)]

const ended = (p: Process): Process => ({ ...begin(p, p.tries), at: 'done' })

const upTo = (top: number): number[] => Array.from({ length: top }, (_, i) => i + 1)

/** An interrupted process looks again: a flush begins anew, cleaning continues with the rest. */
const interrupted = (p: Process): Process[] => (CLEANING.includes(p.at) ? [cleaning(p)] : anew(p))

const CLEANING = ['clean: void', 'remove']

const target = ({ role, base, top }: Process): number => (role === 'writer' && base!.kind === 'initial' ? 0 : top! + 1)

function toPublish({ role, base, bit, own, shared, merged, top }: Process): File {
  if (role === 'compactor') return file('closed', { on: base })
  if (base!.kind !== 'initial') return file('layer', { on: base, own: bit, shared: shared! | bit })
  // An initial base with live layers is made one that layers may name; else the flush takes its place.
  const listed = { merged: base!.merged & merged! }
  if (top! > 0) return file('base', { own: base!.own, shared: base!.shared, ...listed })
  return file('base', { own: own! | bit, shared: shared! | bit, ...listed })
}

/** A compactor cleans; a writer that found a closed state goes on with the successor. */
const swapped = (p: Process): Process => (p.role === 'compactor' ? cleaning(p) : begin(p, p.tries))

/**
 * About to replace the base by what it contains; a process keeps nothing that it does not look at any more,
 * as states would differ by it.
 */
const swapping = (p: Process): Process => ({
  ...begin(p, p.tries),
  at: 'swap',
  base: p.base,
  mine: file('base', { own: p.own!, shared: p.shared!, merged: p.merged! }),
})

/** About to clean. Who replaces a container knows by its own base what to do at last. */
const cleaning = (p: Process): Process => ({ ...begin(p, p.tries), at: 'clean', mine: p.role === 'creator' ? p.mine : undefined })

/** Prepares cleaning under a base that was read after the layers were. */
function clearing(p: Process, base: File): Process {
  const all = p.above!
  const live = all.filter(([number, layer]) => isLive(number, layer, base))
  const above = all.filter(([number, layer]) => !isLive(number, layer, base))
  const own = p.role === 'creator' ? { base, mine: p.mine } : {}
  return { ...begin(p, p.tries), at: 'clean: void', ...own, above, top: live.at(-1)?.[0] ?? 0, merged: base.merged }
}

function present(objects: Objects, above: number): [number, File][] {
  return objects.flatMap((layer, number) => (number > above && layer !== undefined ? [[number, layer] as [number, File]] : []))
}

/** A reader that has opened the base: a file of footer version 6 is all there is. */
const wholeOr = (p: Process, next: (p: Process) => Process): Process =>
  p.base!.kind === 'immutable' ? looking({ ...p, got: [], result: packed(p.base!) }, []) : next(p)

const probing = (p: Process, number: number): Process => ({ ...p, at: 'probe', got: p.got ?? [], todo: [number] })

function assembled(got: NonNullable<Process['got']>, base: File | undefined): Objects {
  const objects: (File | undefined)[] = [base]
  for (const [number, layer] of got) if (number > 0) objects[number] = layer
  return Array.from(objects)
}

const readAll = (p: Process, base: File | undefined): Process => ({
  ...begin(p, p.tries),
  at: 'read',
  result: packed(view(assembled(p.got!, base))),
})

/** Keeps of what was opened only what is to be looked at again. */
const looking = (p: Process, todo: readonly number[]): Process => {
  const got = p.got!.filter(([number]) => todo.includes(number))
  const rest = todo.length === 0 ? { at: 'read' } : { at: 'again', base: p.base }
  return { ...begin(p, p.tries), ...rest, result: p.result!, got, todo }
}

/** Live layers that name no base, and numbers below the highest live one that have none. */
function doubtful(got: NonNullable<Process['got']>, base: File): number[] {
  const objects = assembled(got, base)
  const { top } = view(objects)
  return upTo(top).filter((number) => objects[number]?.kind === 'crate' || !isLive(number, objects[number], base))
}
