/**
 * Bump allocation over the linear memory.
 *
 * Contract: `arenaAlloc` returns 16-byte aligned regions one after another, from `__heap_base` or 112 KiB
 * upwards, so that the tables of the modules over this memory have room below. `arenaReset` frees everything
 * allocated since the `arenaMark` it receives. Contents are not cleared. At least 64 bytes behind every
 * region are readable and belong to no other region, so kernels may load whole vectors at the end of their
 * input. No region is below 64 KiB, so no 16-bit offset reaches from a region to address 0.
 *
 *     | tables of reading.ts, compute.ts, filters.ts, rare-filters.ts, tiff.ts, zstd | (112 KiB) | regions | free ... |
 *                                                                                                    top ^
 *
 * Each region is followed by its slack.
 *
 * Why it is fast: an allocation is an addition and a comparison. Growing is slow (it also detaches the views
 * of JavaScript), so memory doubles, by at least 4 MiB and at most 256 MiB.
 */
const SLACK: u64 = 64
const PAGE_BITS: u64 = 16
const LEAST_GROWTH: u64 = 64 // pages: 4 MiB
const MOST_GROWTH: u64 = 4096 // pages: 256 MiB
/** Regions end below the last page, so that no address computation beyond an end wraps. */
const CEILING: u64 = 0xffff0000

let top: usize = max((__heap_base + 15) & ~15, 0x1c000)

export function arenaMark(): usize {
  return top
}

export function arenaReset(mark: usize): void {
  top = mark
}

/** Returns the start of a new region of `bytes` bytes, or 0 if memory cannot grow that far. */
export function arenaAlloc(bytes: usize): usize {
  const start = top
  const end = (<u64>start + <u64>bytes + SLACK + 15) & ~15
  if (end > CEILING) return 0
  if (!reach(end)) return 0
  top = <usize>end
  return start
}

function reach(end: u64): bool {
  const pages = <u64>(<u32>memory.size())
  if (end <= pages << PAGE_BITS) return true
  const needed = ((end + 0xffff) >> PAGE_BITS) - pages
  const wanted = max(needed, min(max(pages, LEAST_GROWTH), MOST_GROWTH))
  return memory.grow(<i32>wanted) >= 0 || memory.grow(<i32>needed) >= 0
}
