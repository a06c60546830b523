/**
 * Predictors of TIFF, row by row. A row has `rowSamples` samples, of which `step` belong to one pixel.
 *
 * Contract: `addLeft` adds to each little-endian integer of `bytes` bytes (1, 2, 4 or 8) the one of the pixel
 * to the left, in place. `joinPlanes` reads rows of floats of `bytes` bytes that are stored as differences of
 * the bytes in planes, the most significant plane first, and writes little-endian numbers. It changes the
 * input.
 */
export function addLeft(at: usize, rows: usize, rowSamples: usize, step: usize, bytes: usize): void {
  for (; rows > 0; rows--, at += rowSamples * bytes) {
    if (bytes == 1) add<u8>(at, rowSamples, step)
    else if (bytes == 2) add<u16>(at, rowSamples, step)
    else if (bytes == 4) add<u32>(at, rowSamples, step)
    else add<u64>(at, rowSamples, step)
  }
}

function add<T>(at: usize, count: usize, step: usize): void {
  const end = at + count * sizeof<T>()
  if (step == 1) {
    let sum: T = 0
    for (; at < end; at += sizeof<T>()) {
      sum += load<T>(at)
      store<T>(at, sum)
    }
    return
  }
  const back = step * sizeof<T>()
  for (let to = at + back; to < end; to += sizeof<T>()) store<T>(to, load<T>(to) + load<T>(to - back))
}

export function joinPlanes(src: usize, dst: usize, rows: usize, rowSamples: usize, step: usize, bytes: usize): void {
  const rowBytes = rowSamples * bytes
  for (; rows > 0; rows--, src += rowBytes, dst += rowBytes) {
    add<u8>(src, rowBytes, step)
    for (let plane: usize = 0; plane < bytes; plane++) {
      let from = src + plane * rowSamples
      const end = from + rowSamples
      for (let to = dst + bytes - 1 - plane; from < end; from++, to += bytes) store<u8>(to, load<u8>(from))
    }
  }
}
