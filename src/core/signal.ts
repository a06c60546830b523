/** What this package uses of an `AbortSignal`, spelled out because the public types must not need the DOM's. */
export interface Signal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
}
