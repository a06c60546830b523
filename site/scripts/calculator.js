/** Parses a selection in the form of the command: `0, 10:20, ::2`. */
const selectors = (text, slice) =>
  text.split(',').map((piece) => {
    const parts = piece.split(':').map((part) => (part.trim() === '' ? null : Number(part)))
    return parts.length === 1 ? parts[0] : slice(...parts)
  })

/**
 * Returns the number of chunks that a selection needs, the bytes of these as whole chunks, and the bytes of
 * the selection.
 */
export function costOf({ shape, chunks, bytes, selection }, { ChunkGrid, plan, resolveSelection, slice }) {
  const numbers = (text) => text.split(',').map(Number)
  const product = (lengths) => lengths.reduce((size, length) => size * length, Number(bytes))
  const grid = ChunkGrid.regular(numbers(shape), numbers(chunks))
  const planned = plan(resolveSelection(selectors(selection, slice), grid.shape), grid)
  return { requests: planned.chunks, read: planned.chunks * product(numbers(chunks)), wanted: product(planned.shape) }
}

function showBytes(bytes) {
  const power = Math.min(4, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${Number((bytes / 1024 ** power).toPrecision(3))} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`
}

/** Returns the text below the form. */
export function answerTo(fields, library) {
  try {
    const { requests, read, wanted } = costOf(fields, library)
    const share = read === 0 ? '' : `, of which ${Number(((100 * wanted) / read).toPrecision(2))} % are wanted`
    return `${requests} ${requests === 1 ? 'request' : 'requests'}, ${showBytes(read)}${share}`
  } catch (error) {
    return error.message
  }
}

const form = globalThis.document?.querySelector('#calculator')
if (form) {
  const [arrays, plans] = await Promise.all([import('./hyperslab/index.js'), import('./hyperslab/plan.js')])
  const library = { ...arrays, ...plans }
  const answer = () => {
    form.elements.answer.value = answerTo(Object.fromEntries(new FormData(form)), library)
  }
  form.addEventListener('input', answer)
  form.addEventListener('submit', (event) => event.preventDefault())
  answer()
}
