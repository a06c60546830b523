// Frame after frame along a dimension.
import { showPlaying } from './sliders.ts'

/** How long a frame is shown at least, in milliseconds; longer for those who want little motion. */
const frameTime = (): number => (matchMedia('(prefers-reduced-motion: reduce)').matches ? 1000 : 250)

/** The frames that are played. */
interface Frames {
  /** The position behind the one that is shown. */
  next(dim: string): number
  /** Reads what is at a position, to be drawn later. */
  ahead(dim: string, position: number): Promise<unknown>
  move(dim: string, position: number): Promise<void>
}

export class Player {
  readonly #frames: Frames
  #run: { readonly dim: string } | undefined

  constructor(frames: Frames) {
    this.#frames = frames
  }

  /** The dimension that is played. */
  get dim(): string | undefined {
    return this.#run?.dim
  }

  /** Shows frame after frame; the next one is read while one is seen. */
  async play(dim: string): Promise<void> {
    const run = { dim }
    this.#run = run
    showPlaying(dim)
    while (this.#run === run) {
      const began = performance.now()
      // Of what cannot be read tells who moves there.
      const ahead = this.#frames.ahead(dim, this.#frames.next(dim)).catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, frameTime() - (performance.now() - began)))
      await ahead
      // Who has moved it meanwhile goes on from there.
      if (this.#run === run) await this.#frames.move(dim, this.#frames.next(dim))
    }
  }

  stop(): void {
    this.#run = undefined
    showPlaying(undefined)
  }
}
