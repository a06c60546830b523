/**
 * Normalised axes of a walk over two strided operands.
 *
 * Contract: `normalise` reads a shape and two lists of strides in elements, and fills the table below with
 * the remaining axes. It drops axes of length 1, and reverses those along which the leading operand runs
 * backwards. It sorts axes so that the leading operand moves least along axis 0, and merges neighbours that
 * form one longer run in both operands. Addresses wrap modulo 2^32, and so do these steps.
 *
 *     AXES + 16 * axis:  u32 length | i32 leadStep | i32 otherStep | u32 position      (steps in bytes; axis 0 is the innermost)
 *
 * Why it is fast: most boxes have one or two axes left, and their inner loop is as long as the layout allows.
 */
const LENGTH: usize = 0
const LEAD: usize = 4
const OTHER: usize = 8
const POSITION: usize = 12

/** Number of leading axes that always exist; missing ones have length 1. */
const PLANE: i32 = 2

/** Largest number of axes longer than 1 in a walk over at most 2^32 positions; more are rejected. */
const MOST_AXES: i32 = 32
const AXES: usize = memory.data(512, 16)

/** Bytes to add to the operands' addresses for the first position of the walk, after reversing axes. */
export let leadShift: usize = 0
export let otherShift: usize = 0

/** Returns the number of remaining axes, or -1 if there is nothing to visit. */
export function normalise(rank: i32, shape: usize, lead: usize, leadBytes: i32, other: usize, otherBytes: i32): i32 {
  leadShift = 0
  otherShift = 0
  let count = 0
  for (let axis = rank - 1; axis >= 0; axis--) {
    const at = <usize>axis << 2
    const length = load<u32>(shape + at)
    if (length == 0) return -1
    if (length == 1) continue
    if (count == MOST_AXES) unreachable()
    let leadStep = load<i32>(lead + at) * leadBytes
    let otherStep = load<i32>(other + at) * otherBytes
    if (leadStep < 0) {
      leadShift += leadStep * (length - 1)
      otherShift += otherStep * (length - 1)
      leadStep = -leadStep
      otherStep = -otherStep
    }
    insert(count++, length, leadStep, otherStep)
  }
  count = merge(count)
  for (let axis = count; axis < PLANE; axis++) put(AXES + (<usize>axis << 4), 1, axis == 0 ? leadBytes : 0, 0)
  return count
}

function put(entry: usize, length: u32, leadStep: i32, otherStep: i32): void {
  v128.store(entry, i32x4.replace_lane(i32x4.replace_lane(i32x4.replace_lane(i32x4.splat(0), 0, length), 1, leadStep), 2, otherStep))
}

/** Inserts an axis into the sorted table; axes that move the leading operand equally keep their order. */
function insert(count: i32, length: u32, leadStep: i32, otherStep: i32): void {
  let entry = AXES + (<usize>count << 4)
  while (entry > AXES && load<u32>(entry - 16, LEAD) > <u32>leadStep) {
    v128.store(entry, v128.load(entry - 16))
    entry -= 16
  }
  put(entry, length, leadStep, otherStep)
}

function merge(count: i32): i32 {
  if (count < 2) return count
  let inner = AXES
  for (let axis = 1; axis < count; axis++) {
    const outer = AXES + (<usize>axis << 4)
    const length = load<u32>(inner, LENGTH)
    const merged = <u64>length * load<u32>(outer, LENGTH)
    if (
      load<u32>(outer, LEAD) == load<u32>(inner, LEAD) * length &&
      load<u32>(outer, OTHER) == load<u32>(inner, OTHER) * length &&
      merged <= 0xffffffff
    ) {
      store<u32>(inner, <u32>merged, LENGTH)
    } else {
      inner += 16
      v128.store(inner, v128.load(outer))
    }
  }
  return <i32>((inner - AXES) >> 4) + 1
}

export function axisLength(axis: i32): u32 {
  return load<u32>(AXES + (<usize>axis << 4), LENGTH)
}

export function leadStep(axis: i32): i32 {
  return load<i32>(AXES + (<usize>axis << 4), LEAD)
}

export function otherStep(axis: i32): i32 {
  return load<i32>(AXES + (<usize>axis << 4), OTHER)
}

export function swapAxes(a: i32, b: i32): void {
  const first = AXES + (<usize>a << 4)
  const second = AXES + (<usize>b << 4)
  const entry = v128.load(first)
  v128.store(first, v128.load(second))
  v128.store(second, entry)
}

/**
 * Advances the odometer over the axes from `first` on by one position, and the shifts with it. Returns false
 * once it is back at the start.
 */
export function advance(first: i32, count: i32): bool {
  for (let axis = first; axis < count; axis++) {
    const entry = AXES + (<usize>axis << 4)
    const length = load<u32>(entry, LENGTH)
    const position = load<u32>(entry, POSITION) + 1
    leadShift += load<u32>(entry, LEAD)
    otherShift += load<u32>(entry, OTHER)
    store<u32>(entry, position == length ? 0 : position, POSITION)
    if (position != length) return true
    leadShift -= load<u32>(entry, LEAD) * length
    otherShift -= load<u32>(entry, OTHER) * length
  }
  return false
}
