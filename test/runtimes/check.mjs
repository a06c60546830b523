// Assertions and their bookkeeping; node:assert is not everywhere.

/** Collects what was checked, and goes on after a failure. */
export function checker(isHyperslabError) {
  const results = []
  return {
    results,
    async check(name, run) {
      try {
        await run()
        results.push({ name })
      } catch (error) {
        results.push({ name, error: describe(error) })
      }
    },
    /** Something must fail with an error of ours, of the kind `tag`. */
    async rejects(tag, run) {
      let result
      try {
        result = await run()
      } catch (error) {
        if (isHyperslabError(error, tag)) return error
        throw new Error(`expected ${tag}, got ${describe(error)}`)
      }
      throw new Error(`expected ${tag}, got ${show(result)}`)
    },
  }
}

/** Deep equality of values, lists and typed arrays; a typed array equals a list of its elements. */
export function equal(actual, expected) {
  if (!same(actual, expected)) throw new Error(`expected ${show(expected)}, got ${show(actual)}`)
}

export function near(actual, expected) {
  if (!(Math.abs(actual - expected) <= 1e-9 * Math.abs(expected))) throw new Error(`expected about ${expected}, got ${actual}`)
}

/** The first lines of a stack: browsers leave the message out of it, others do not. */
export function describe(error) {
  if (!(error instanceof Error)) return show(error)
  const text = `${error.name}: ${error.message}`
  const stack = String(error.stack ?? '').replace(`${text}\n`, '')
  return [text, ...stack.split('\n').slice(0, 4)].join('\n')
}

function same(a, b) {
  if (!isList(a) || !isList(b)) return Object.is(a, b)
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!same(a[i], b[i])) return false
  return true
}

const isList = (value) => Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))

function show(value) {
  if (isList(value)) {
    const shown = Array.from(value).slice(0, 20).map(show).join(', ')
    return `[${shown}${value.length > 20 ? `, … (${value.length})` : ''}]`
  }
  return typeof value === 'bigint'
    ? `${value}n`
    : typeof value === 'object'
      ? String(value)
      : (JSON.stringify(value) ?? String(value))
}
