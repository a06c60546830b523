// Plays frames along a dimension.
import { showPlaying } from './sliders.ts'

/** Returns the shortest time per frame in ms. It is longer for users who prefer reduced motion. */
const frameTime = (): number => (matchMedia('(prefers-reduced-motion: reduce)').matches ? 1000 : 250)

/** Source of the played frames. */
interface Frames {
  /** Returns the position after the shown one. */
  next(dim: string): number
  /** Reads a position ahead of its drawing. */
  ahead(dim: string, position: number): Promise<unknown>
  move(dim: string, position: number): Promise<void>
}

export class Player {
  readonly #frames: Frames
  #run: { readonly dim: string } | undefined

  constructor(frames: Frames) {
    this.#frames = frames
  }

  /** Dimension that is played. */
  get dim(): string | undefined {
    return this.#run?.dim
  }

  /** Shows frame after frame, and reads the next one meanwhile. */
  async play(dim: string): Promise<void> {
    const run = { dim }
    this.#run = run
    showPlaying(dim)
    while (this.#run === run) {
      const began = performance.now()
      // Errors are ignored here, because moving to the position reports them.
      const ahead = this.#frames.ahead(dim, this.#frames.next(dim)).catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, frameTime() - (performance.now() - began)))
      await ahead
      // If the user has moved it meanwhile, it continues from there.
      if (this.#run === run) await this.#frames.move(dim, this.#frames.next(dim))
    }
  }

  stop(): void {
    this.#run = undefined
    showPlaying(undefined)
  }
}
