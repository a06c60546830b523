/** Names that a module takes from another one at run time: `const { a, b } = await import('./c.js')`. */
const TAKEN = /\{\s*(\w+(?:,\s*\w+)*),?\s*\} = await import\(\s*['"][^'"]+['"]\s*\)/g

/** Text that `transform` adds, as rollup prints it. */
const ADDED = /\.then\(\(\{ (\w+(?:, \w+)*) \}\) => \(\{ \1 \}\)\)/g

/**
 * Plugin for rollup that keeps the parameters of functions that are imported at run time. Rollup 4.68 does
 * not see the calls of `f` after `const { f } = await import(…)`. If all other calls pass the same literal,
 * it replaces the parameter by this literal, and the function computes something else. Rollup sees calls of
 * functions that a promise yields, so these names pass through a promise until the code is printed.
 */
export const keepParameters = () => ({
  name: 'keep-parameters',
  transform: (code) => ({
    code: code.replace(TAKEN, (taken, list) => {
      const names = list.split(/,\s*/).join(', ')
      return `${taken}.then(({ ${names} }) => ({ ${names} }))`
    }),
    map: null,
  }),
  renderChunk: (code) => ({ code: code.replace(ADDED, ''), map: null }),
})
