/** The operation that something was made by, and of what: for code that does the same elsewhere. */
export interface Origin {
  /** What it was called on; undefined of what was opened. */
  readonly of: unknown
  /** The name of the method or function. */
  readonly name: string
  readonly args: readonly unknown[]
}

/** An operation with copies of its arguments, which callers may change afterwards. */
export const originOf = (of: unknown, name: string, ...args: readonly unknown[]): Origin => ({ of, name, args: args.map(copied) })

const copied = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copied)
  const isPlain = value instanceof Object && Object.getPrototypeOf(value) === Object.prototype
  return isPlain ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copied(each)])) : value
}
