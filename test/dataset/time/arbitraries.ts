import type { Calendar } from '../../../src/dataset/time/calendar.ts'

export const CALENDARS: readonly Calendar[] = ['standard', 'proleptic_gregorian', 'noleap', 'all_leap', '360_day', 'julian']

/** The generator mulberry32: numbers from 0 up to 1, always the same ones for a seed. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** An integer of a range, ends included. */
export const integer = (random: () => number, from: number, to: number): number => from + Math.floor(random() * (to - from + 1))
