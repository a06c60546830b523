import ts from 'typescript'

/** A regular expression of a program, where it stands. */
interface Expression {
  readonly source: string
  readonly flags: string
  /** Line in the file, from 1. */
  readonly line: number
}

/** Text that stands for an interpolated part of a pattern. */
const INTERPOLATED = 'NAME'

/**
 * All regular expressions of a module: literals, and those that `RegExp` makes of literals and templates.
 * @throws Error for a pattern that is known only at run time
 */
export function expressionsOf(code: string, name: string): Expression[] {
  const file = ts.createSourceFile(name, code, ts.ScriptTarget.Latest, true)
  const found: Expression[] = []
  const lineOf = (node: ts.Node): number => file.getLineAndCharacterOfPosition(node.getStart()).line + 1
  const textOf = (node: ts.Node | undefined): string => {
    if (node === undefined) return ''
    if (ts.isStringLiteralLike(node)) return node.text
    if (ts.isRegularExpressionLiteral(node)) return node.text.slice(1, node.text.lastIndexOf('/'))
    if (ts.isTemplateExpression(node))
      return node.head.text + node.templateSpans.map(({ literal }) => INTERPOLATED + literal.text).join('')
    throw new Error(`${name}:${lineOf(node)}: ${node.getText()} is a pattern that is known only at run time`)
  }
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      found.push({ source: node.text.slice(1, end), flags: node.text.slice(end + 1), line: lineOf(node) })
    }
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp') {
      const [pattern, flags] = node.arguments ?? []
      found.push({ source: textOf(pattern), flags: textOf(flags), line: lineOf(node) })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** Ranges of code units, both ends included, ascending. */
type Units = readonly (readonly [first: number, last: number])[]

type Node =
  | { readonly kind: 'units'; readonly units: Units }
  | { readonly kind: 'start' | 'end' | 'nothing' }
  /** Looks at what follows or precedes, and consumes nothing. */
  | { readonly kind: 'look'; readonly body: Node }
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Node[] }
  | { readonly kind: 'repeat'; readonly body: Node; readonly least: number; readonly most: number }

const LAST = 0xffff
const DIGITS: Units = [[48, 57]]
const WORD: Units = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
]
const SPACE: Units = [
  [9, 13],
  [32, 32],
  [160, 160],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]
const BREAKS: Units = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
]
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0 }

function sorted(units: Units): Units {
  const merged: [number, number][] = []
  for (const [first, last] of [...units].sort((a, b) => a[0] - b[0])) {
    const before = merged.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last)
    else merged.push([first, last])
  }
  return merged
}

function inverse(units: Units): Units {
  const gaps: [number, number][] = []
  let next = 0
  for (const [first, last] of sorted(units)) {
    if (first > next) gaps.push([next, first - 1])
    next = last + 1
  }
  if (next <= LAST) gaps.push([next, LAST])
  return gaps
}

/** Both cases of each letter of ASCII. */
const eitherCase = (units: Units): Units =>
  sorted([
    ...units,
    ...units.flatMap(([first, last]) =>
      (
        [
          [65, 90, 32],
          [97, 122, -32],
        ] as const
      ).flatMap(([a, z, shift]) => {
        const [from, to] = [Math.max(first, a), Math.min(last, z)]
        return from <= to ? [[from + shift, to + shift] as const] : []
      }),
    ),
  ])

/** The parts of a pattern. Throws for what it does not know, so that nothing is taken for harmless unread. */
class Pattern {
  readonly #text: string
  readonly #flags: string
  #at = 0

  constructor(source: string, flags: string) {
    this.#text = source
    this.#flags = flags
  }

  parse(): Node {
    const node = this.#alternatives()
    if (this.#at < this.#text.length) this.#unknown()
    return node
  }

  #unknown(): never {
    throw new Error(`cannot judge /${this.#text}/ from ${this.#text.slice(this.#at)} on`)
  }

  #eat(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #alternatives(): Node {
    const parts = [this.#sequence()]
    while (this.#eat('|')) parts.push(this.#sequence())
    return { kind: 'any', parts }
  }

  #sequence(): Node {
    const parts: Node[] = []
    while (this.#at < this.#text.length && !'|)'.includes(this.#text[this.#at]!)) parts.push(this.#quantified(this.#atom()))
    return { kind: 'all', parts }
  }

  #quantified(body: Node): Node {
    const quantifier = this.#text.slice(this.#at).match(/^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/)
    if (quantifier === null) return body
    const [text, count, comma, end] = quantifier
    this.#at += text.length
    const [least, most] =
      count === undefined
        ? { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] }[text[0]!]!
        : [Number(count), comma === '' ? Number(count) : end === '' ? Infinity : Number(end)]
    return { kind: 'repeat', body, least: least!, most: most! }
  }

  #atom(): Node {
    if (this.#eat('^')) return { kind: this.#flags.includes('m') ? 'nothing' : 'start' }
    if (this.#eat('$')) return { kind: 'end' }
    if (this.#eat('\\b') || this.#eat('\\B')) return { kind: 'nothing' }
    if (this.#eat('.')) return { kind: 'units', units: this.#flags.includes('s') ? [[0, LAST]] : inverse(BREAKS) }
    if (this.#eat('[')) return this.#class()
    if (this.#eat('(')) {
      const look = ['?=', '?!', '?<=', '?<!'].some((open) => this.#eat(open))
      if (!look && !this.#eat('?:')) {
        const name = this.#text.slice(this.#at).match(/^\?<\w+>/)
        if (name !== null) this.#at += name[0].length
      }
      const body = this.#alternatives()
      if (!this.#eat(')')) this.#unknown()
      return look ? { kind: 'look', body } : body
    }
    if ('*+?{'.includes(this.#text[this.#at]!)) this.#unknown()
    return { kind: 'units', units: this.#cased(this.#units()) }
  }

  #cased(units: Units): Units {
    return this.#flags.includes('i') ? eitherCase(units) : units
  }

  #class(): Node {
    const isInverse = this.#eat('^')
    const units: (readonly [number, number])[] = []
    while (!this.#eat(']')) {
      const first = this.#units(true)
      if (this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']') {
        this.#at++
        units.push([first[0]![0], this.#units(true)[0]![1]])
      } else units.push(...first)
    }
    const cased = this.#cased(sorted(units))
    return { kind: 'units', units: isInverse ? inverse(cased) : cased }
  }

  /** One character, or the class that an escape names. */
  #units(inClass = false): Units {
    const [whole, unit] = this.#text.slice(this.#at).match(/^\\(?:x[\da-f]{2}|u[\da-f]{4}|p\{\w+\}|P\{\w+\}|(.))/is) ?? []
    if (whole === undefined) {
      const code = this.#text.codePointAt(this.#at)!
      this.#at += String.fromCodePoint(code).length
      // A pair of surrogates: as the whole of those, which is more than it matches.
      return code > LAST ? [[0xd800, 0xdfff]] : [[code, code]]
    }
    this.#at += whole.length
    if (/^\\[pP]/.test(whole)) return [[0, LAST]]
    if (unit === undefined) {
      const code = Number.parseInt(whole.slice(2), 16)
      return [[code, code]]
    }
    const named = { d: DIGITS, w: WORD, s: SPACE }[unit.toLowerCase()]
    if (named !== undefined) return unit === unit.toLowerCase() ? named : inverse(named)
    if (unit === 'b' && inClass) return [[8, 8]]
    const code = CONTROLS[unit] ?? (/[^a-z1-9]/i.test(unit) ? unit.charCodeAt(0) : this.#unknown())
    return [[code, code]]
  }
}

/** A transition: by units, or by nothing, perhaps only at the start or at the end of the text. */
interface Edge {
  readonly to: number
  readonly on: Units | 'nothing' | 'start' | 'end'
}

/** More of a counted repetition are as good as without an end. */
const MOST_COPIES = 64

class Automaton {
  readonly edges: Edge[][] = []
  /** Patterns of what looks ahead or back. */
  readonly looks: Node[] = []

  state(): number {
    return this.edges.push([]) - 1
  }

  /** Adds a part that begins in a state; returns the state it ends in. */
  add(node: Node, from: number): number {
    if (node.kind === 'all') return node.parts.reduce((at, part) => this.add(part, at), from)
    if (node.kind === 'repeat') return this.#repeat(node, from)
    const to = this.state()
    if (node.kind === 'units') this.edges[from]!.push({ to, on: node.units })
    else if (node.kind === 'any') for (const part of node.parts) this.#join(this.add(part, from), to)
    else if (node.kind === 'look') {
      this.looks.push(node.body)
      this.#join(from, to)
    } else this.edges[from]!.push({ to, on: node.kind })
    return to
  }

  #join(from: number, to: number): void {
    this.edges[from]!.push({ to, on: 'nothing' })
  }

  #repeat({ body, least, most }: Node & { kind: 'repeat' }, from: number): number {
    let at = this.state()
    this.#join(from, at)
    for (let i = 0; i < Math.min(least, MOST_COPIES); i++) at = this.add(body, at)
    const to = this.state()
    if (most > MOST_COPIES) {
      const loop = this.state()
      this.#join(at, loop)
      this.#join(this.add(body, loop), loop)
      this.#join(loop, to)
      return to
    }
    this.#join(at, to)
    for (let i = least; i < most; i++) {
      at = this.add(body, at)
      this.#join(at, to)
    }
    return to
  }

  /** States that are reached without a unit. */
  closure(states: Iterable<number>, ends: { readonly start?: boolean; readonly end?: boolean } = {}): Set<number> {
    const reached = new Set(states)
    for (const state of reached)
      for (const { to, on } of this.edges[state]!)
        if (on === 'nothing' || (on === 'start' && ends.start) || (on === 'end' && ends.end)) reached.add(to)
    return reached
  }
}

/** One unit of each set of units that no edge tells apart. */
function alphabetOf(edges: readonly (readonly Edge[])[]): number[] {
  const sets = edges.flat().flatMap(({ on }) => (typeof on === 'string' ? [] : [on]))
  const limits = sets.flat().flatMap(([from, to]) => [from, ...(to < LAST ? [to + 1] : [])])
  const signature = (unit: number): string => sets.map((set) => (has(set, unit) ? '1' : '0')).join('')
  return [...new Map([0, ...limits].map((unit) => [signature(unit), unit])).values()]
}

const has = (units: Units, unit: number): boolean => units.some(([first, last]) => first <= unit && unit <= last)

/**
 * Returns the reason why an expression may take more than linear time; undefined if it cannot. The rules are
 * those of Weideman et al., "Analyzing Matching Time Behavior of Backtracking Regular Expression Matchers".
 * In an exponential expression, some word leads from a state back to it by two ways. In a polynomial one, it
 * leads from a state to itself, to another one, and from there back to that; what follows can fail. The
 * attempt at each place of a text is a state, too.
 */
export function superlinear({ source, flags }: Pick<Expression, 'source' | 'flags'>): string | undefined {
  if (/\\[1-9]|\\k</.test(source)) return 'it refers back'
  return judge(new Pattern(source, flags).parse(), flags)
}

function judge(pattern: Node, flags: string): string | undefined {
  const automaton = new Automaton()
  // Tries each place of the text, unless it is tried at one.
  const search = automaton.state()
  const begin = automaton.state()
  if (!flags.includes('y')) automaton.edges[search]!.push({ to: search, on: [[0, LAST]] })
  automaton.edges[search]!.push({ to: begin, on: 'nothing' })
  const accept = automaton.add(pattern, begin)
  for (const look of automaton.looks) if (hasLoop(look)) return 'it looks ahead or back without an end'
  const { edges } = automaton
  const alphabet = alphabetOf(edges)
  const isMultiline = flags.includes('m')
  // States after a unit, by unit: those with edges that consume one.
  const consuming = edges.flatMap((own, state) => (own.some(({ on }) => typeof on !== 'string') ? [state] : []))
  const isConsuming = new Set(consuming)
  const next = new Map(
    consuming.map((state) => [
      state,
      alphabet.map((unit) => {
        const to = edges[state]!.flatMap((edge) => (typeof edge.on !== 'string' && has(edge.on, unit) ? [edge.to] : []))
        return to.map((one) => automaton.closure([one], { end: isMultiline }))
      }),
    ]),
  )
  const table = new Map(
    [...next].map(([state, to]) => [
      state,
      to.map((closures) => closures.flatMap((closure) => [...closure].filter((one) => isConsuming.has(one)))),
    ]),
  )
  /** Ways of a unit; one that comes twice is there twice. */
  const ways = (state: number, unit: number): readonly number[] => table.get(state)![unit]!
  const reachable = new Set([...automaton.closure([search], { start: true })].filter((one) => isConsuming.has(one)))
  for (const state of reachable)
    for (let unit = 0; unit < alphabet.length; unit++) for (const to of ways(state, unit)) reachable.add(to)
  const loops = [...reachable].filter((state) => isLoop(state, alphabet.length, ways))
  const failing = (state: number): boolean => canFail(automaton, alphabet, state, accept, isMultiline)
  for (const q of loops) {
    if (!failing(q)) continue
    for (const p of loops)
      if (p !== q && isPumped(p, q, alphabet.length, ways)) return `repetitions match the same text, and what follows can fail`
    if (isDoubled(q, alphabet.length, ways)) return 'a repetition of repetitions matches a text in several ways'
  }
  return undefined
}

const hasLoop = (node: Node): boolean =>
  node.kind === 'repeat'
    ? node.most > MOST_COPIES || hasLoop(node.body)
    : node.kind === 'look'
      ? hasLoop(node.body)
      : 'parts' in node && node.parts.some(hasLoop)

type Ways = (state: number, unit: number) => readonly number[]

/** Whether some word leads from a state back to it. */
function isLoop(state: number, units: number, ways: Ways): boolean {
  const seen = new Set<number>()
  const queue = [state]
  for (const from of queue)
    for (let unit = 0; unit < units; unit++)
      for (const to of ways(from, unit)) {
        if (to === state) return true
        if (!seen.has(to)) queue.push(to)
        seen.add(to)
      }
  return false
}

/** Whether some word leads from p to p, from p to q, and from q to q. */
function isPumped(p: number, q: number, units: number, ways: Ways): boolean {
  const seen = new Set<string>()
  const queue: (readonly [number, number, number])[] = [[p, p, q]]
  for (const [a, b, c] of queue)
    for (let unit = 0; unit < units; unit++)
      for (const x of ways(a, unit))
        for (const y of ways(b, unit))
          for (const z of ways(c, unit)) {
            if (x === p && y === q && z === q) return true
            const name = `${x},${y},${z}`
            if (seen.has(name)) continue
            seen.add(name)
            queue.push([x, y, z])
          }
  return false
}

/** Whether some word leads from a state back to it in two ways. */
function isDoubled(q: number, units: number, ways: Ways): boolean {
  const seen = new Set<string>()
  const queue: (readonly [number, number, boolean])[] = [[q, q, false]]
  for (const [a, b, differ] of queue)
    for (let unit = 0; unit < units; unit++) {
      const [from, other] = [ways(a, unit), ways(b, unit)]
      for (const [i, x] of from.entries())
        for (const [j, y] of other.entries()) {
          const now = differ || x !== y || (a === b && i !== j)
          if (now && x === q && y === q) return true
          const name = `${x},${y},${now}`
          if (seen.has(name)) continue
          seen.add(name)
          queue.push([x, y, now])
        }
    }
  return false
}

/** Whether some text after a state is not matched. */
function canFail(
  automaton: Automaton,
  alphabet: readonly number[],
  state: number,
  accept: number,
  isMultiline: boolean,
): boolean {
  const seen = new Set<string>()
  const queue = [automaton.closure([state])]
  for (const states of queue) {
    if (states.has(accept)) continue
    if (isMultiline || !automaton.closure(states, { end: true }).has(accept)) return true
    for (const unit of alphabet) {
      const to = [...states].flatMap((from) =>
        automaton.edges[from]!.flatMap((edge) => (typeof edge.on !== 'string' && has(edge.on, unit) ? [edge.to] : [])),
      )
      const after = automaton.closure(to)
      const name = [...after].sort((a, b) => a - b).join()
      if (seen.has(name)) continue
      seen.add(name)
      queue.push(after)
    }
  }
  return false
}
