/** Operation that made an array or a dataset, recorded for generated code. */
export interface Origin {
  /** Object of the call; undefined for an opened file. */
  readonly of: unknown
  /** Name of the method or function. */
  readonly name: string
  readonly args: readonly unknown[]
}

/** Records an operation. Arguments are copied, because callers may change them later. */
export const createOrigin = (of: unknown, name: string, ...args: readonly unknown[]): Origin => {
  const copies = new Map<unknown, unknown>()
  return { of, name, args: args.map((arg) => copied(arg, copies)) }
}

/** @param copies copies made so far, so that a value that contains itself is copied once */
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
