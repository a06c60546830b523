/** Runs work that ends early when the user interrupts it. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController()
  const onInterrupt = (): void => interrupt.abort()
  process.once('SIGINT', onInterrupt)
  try {
    return await work(interrupt.signal)
  } finally {
    process.off('SIGINT', onInterrupt)
  }
}
