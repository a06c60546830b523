import { useEffect, useState } from 'react'

/**
 * Runs a read whenever an input changes, and aborts it when the next one starts or the component unmounts.
 * @param read receives `signal` and `onProgress`, which it passes to the calls of hyperslab
 * @param inputs values that the read depends on, as for `useEffect`
 * @returns `{ value, error, progress }` of the current inputs. `progress` is a number from 0 to 1
 */
export function useRead(read, inputs) {
  const [state, setState] = useState({ progress: 0 })
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    // A result that arrives after the abort belongs to other inputs.
    const set = (next) => !signal.aborted && setState(next)
    set({ progress: 0 })
    const onProgress = ({ done, total }) => set({ progress: done / total })
    read({ signal, onProgress }).then(
      (value) => set({ value, progress: 1 }),
      (error) => set({ error, progress: 0 }),
    )
    return () => controller.abort()
    // biome-ignore lint/correctness/useExhaustiveDependencies: the caller names the inputs of `read`.
  }, inputs)
  return state
}
