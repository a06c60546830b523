/** The operation that something was made by, and of what: for code that does the same elsewhere. */
export interface Origin {
  /** What it was called on; undefined of what was opened. */
  readonly of: unknown
  /** The name of the method or function. */
  readonly name: string
  readonly args: readonly unknown[]
}

/** An operation with copies of its arguments, which callers may change afterwards. */
export const originOf = (of: unknown, name: string, ...args: readonly unknown[]): Origin => {
  const copies = new Map<unknown, unknown>()
  return { of, name, args: args.map((arg) => copied(arg, copies)) }
}

/** @param copies made so far: a value that contains itself is copied once */
function copied(value: unknown, copies: Map<unknown, unknown>): unknown {
  const isPlain = value instanceof Object && Object.getPrototypeOf(value) === Object.prototype
  if (!Array.isArray(value) && !isPlain) return value
  const known = copies.get(value)
  if (known !== undefined) return known
  const copy: object = Array.isArray(value) ? [] : {}
  copies.set(value, copy)
  // A plain assignment of `__proto__` would set the prototype.
  for (const [name, each] of Object.entries(value))
    Object.defineProperty(copy, name, { value: copied(each, copies), writable: true, enumerable: true, configurable: true })
  return copy
}
