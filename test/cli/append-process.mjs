// Appends rows to an array, one after another, and tells of each that is acknowledged. Usage: node
// append-process.mjs ARRAY PROCESS.
const { openZarr } = await import(new URL('../../dist/zarr.js', import.meta.url))
const [place, process_] = process.argv.slice(2)
for (let row = 0; ; row++) {
  const value = Number(process_) * 1_000_000 + row
  process.send({ begun: value })
  const array = await openZarr(place, { kind: 'array', mode: 'r+' })
  await array.append(0, Int32Array.of(value, value))
  await array.close()
  process.send({ done: value })
}
