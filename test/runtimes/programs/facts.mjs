/**
 * Whether the page is what the harness meant it to be: a header without effect would make a check worthless.
 */
export function facts() {
  return { isolated: globalThis.crossOriginIsolated === true, strict: isStrict(), worker: typeof document === 'undefined' }
}

/** Whether code from strings is forbidden. */
function isStrict() {
  try {
    // biome-ignore lint/security/noGlobalEval: asks whether it is allowed
    return globalThis.eval('1') !== 1
  } catch {
    return true
  }
}
