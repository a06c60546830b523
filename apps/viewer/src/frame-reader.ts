// Reads the frames of a subject for a state, when they are first drawn, at the level that suits the display.
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
  /** Returns the width of the picture in pixels of the display. */
  readonly #pixels: () => number

  constructor(progress: Progress, pixels: () => number) {
    this.#progress = progress
    this.#pixels = pixels
  }

  /** Drops all frames, for example after a group is closed. */
  forget(): void {
    this.#frames.clear()
    this.#pictures.forget()
  }

  /** Returns the frame of a state. A frame that was drawn before comes from memory. */
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

  /** Whether a frame is the best one for the state. */
  isBest(frame: Frame, subject: Subject, state: ViewState): boolean {
    const plane = subject.knownPlane(this.levelOf(subject, state))
    return plane !== undefined && frame.of === keyOf(subject.derivation(state), plane) && isAllSeen(frame, state)
  }

  /** Returns the level that suits the display; the coarsest one if the subject is no plane. */
  levelOf(subject: Subject, { zoom }: ViewState): number {
    return subject.isPlane ? subject.levelFor(this.#pixels() * zoom) : subject.group.levels - 1
  }

  /** Returns the derived array of a level, unread. */
  async derive({ group }: Subject, derivation: Derivation, box: Box, level: number): Promise<DataArray> {
    return this.#pictures.derive(await group.dataset(level), derivation, box, level)
  }
}

const keyOf = (derivation: Derivation, { level }: Plane): string => JSON.stringify([derivation, level])
