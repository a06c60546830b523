// Ways to open data: an address, chosen or dropped files, examples, and the query of the page.
import { byId, element } from './dom.ts'
import { EXAMPLES } from './examples.ts'
import { droppedSource, type Source } from './opening.ts'
import { START, stateOf, type ViewState } from './state.ts'

export function bindOpening(open: (source: Source, wanted: ViewState) => Promise<void>): void {
  const url = byId<HTMLInputElement>('url')
  byId<HTMLFormElement>('remote').onsubmit = (event) => {
    event.preventDefault()
    void open(url.value.trim(), { ...START })
  }
  byId<HTMLInputElement>('file').onchange = ({ target }) => {
    const files = [...((target as HTMLInputElement).files ?? [])]
    if (files.length > 0) void open(files, { ...START })
  }
  document.ondragover = (event) => event.preventDefault()
  document.ondrop = async (event) => {
    event.preventDefault()
    const source = event.dataTransfer && (await droppedSource(event.dataTransfer))
    if (source) void open(source, { ...START })
  }
  const items = EXAMPLES.map(({ file, title, text, query }) => {
    const button = element(
      'button',
      { type: 'button' },
      element('strong', { textContent: title }),
      element('span', { textContent: text }),
    )
    button.onclick = () => {
      url.value = new URL(`examples/${file}`, location.href).href
      void open(url.value, stateOf(query))
    }
    button.dataset['example'] = file
    return element('li', {}, button)
  })
  byId('examples').replaceChildren(...items)
  const asked = stateOf(location.search)
  if (asked.url !== '') {
    url.value = asked.url
    void open(asked.url, asked)
  }
}
