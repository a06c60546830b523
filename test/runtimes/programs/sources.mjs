// The sources of the package, run as they are. Prints what the other programs print: an array of results.
import { create, open } from '../../../src/runtime/index.ts'

const [folder] = process.argv.slice(2)
const path = `${folder}/sources.af`
const file = await create(path)
const array = file.createArray('x', { dtype: 'float32', shape: [6, 4], chunks: [2, 4] })
await array.set(
  null,
  Float32Array.from({ length: 24 }, (_, i) => i),
)
await file.flush()
await file.close()
await using again = await open(path)
const x = again.array('x', 'float32', 2)
const found = [await x.get([3, 2]), await x.sum(), await x.mean()]
const expected = [14, 276, 11.5]
const right = found.every((value, i) => value === expected[i])
console.log(
  JSON.stringify([{ name: 'a file is written and read by the sources', ...(!right && { error: `${found}, not ${expected}` }) }]),
)
