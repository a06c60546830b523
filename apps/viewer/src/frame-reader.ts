// Frames of a subject, as the state has them: read when they are first drawn, at the level that is seen best.
import type { DataArray } from 'hyperslab/dataset'
import { type Frame, FrameCache, readFrame } from './frame.ts'
import { isAllSeen, regionSeen } from './geometry.ts'
import { type Box, boxOf, type Derivation, Pictures } from './picture.ts'
import type { Plane } from './plane.ts'
import type { Progress } from './progress.ts'
import type { ViewState } from './state.ts'
import type { Subject } from './subject.ts'

export class FrameReader {
  readonly #frames = new FrameCache()
  readonly #pictures = new Pictures()
  readonly #progress: Progress
  /** Pixels of the display that a picture has across. */
  readonly #pixels: () => number

  constructor(progress: Progress, pixels: () => number) {
    this.#progress = progress
    this.#pixels = pixels
  }

  /** Forgets what was read, as of a group that is closed. */
  forget(): void {
    this.#frames.clear()
    this.#pictures.forget()
  }

  /** The frame of a state, from memory where it was drawn before. */
  async read(subject: Subject, state: ViewState, signal: AbortSignal): Promise<Frame> {
    const plane = await subject.planeAt(this.levelOf(subject, state))
    const region = regionSeen(plane, state)
    const derivation = subject.derivation(state)
    const of = keyOf(derivation, plane)
    const key = of + JSON.stringify(region)
    const found = this.#frames.get(key)
    if (found !== undefined) return found
    const box = boxOf(plane, region)
    const array = await this.derive(subject, derivation, box, plane.level)
    const isComputed = derivation.mean !== undefined || derivation.by !== undefined
    const plain = { ...derivation, mean: undefined, by: undefined }
    signal.throwIfAborted()
    if (isComputed) this.#progress.begin(await this.derive(subject, plain, box, plane.level), signal)
    const frame = await readFrame(array, { plane, region, of }, signal)
    signal.throwIfAborted()
    this.#frames.set(key, frame)
    return frame
  }

  /** Whether a frame is the one that is seen best. */
  isBest(frame: Frame, subject: Subject, state: ViewState): boolean {
    const plane = subject.knownPlane(this.levelOf(subject, state))
    return plane !== undefined && frame.of === keyOf(subject.derivation(state), plane) && isAllSeen(frame, state)
  }

  /** The level that is seen best; the coarsest of what is no plane. */
  levelOf(subject: Subject, { zoom }: ViewState): number {
    return subject.isPlane ? subject.levelFor(this.#pixels() * zoom) : subject.group.levels - 1
  }

  /** What is derived of a level, not read yet. */
  async derive({ group }: Subject, derivation: Derivation, box: Box, level: number): Promise<DataArray> {
    return this.#pictures.derive(await group.dataset(level), derivation, box, level)
  }
}

const keyOf = (derivation: Derivation, { level }: Plane): string => JSON.stringify([derivation, level])
