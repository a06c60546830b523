// The index of the site's search: words that readers use for the questions of docs/questions.md, and the
// weights of pages.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Other words for each question, by the start of its title. */
const WORDS = {
  'How do I read one variable from S3': 'aws bucket credentials download single private paid requester pays',
  'How do I keep what was read':
    'cache caching offline persist persistent store storage browser disk between visits reload sessions',
  'How do I show progress': 'progress bar percent percentage loading indicator spinner status',
  'How do I cancel': 'abort stop interrupt cancel request loading AbortController timeout',
  'How do I choose chunks': 'best chunk size shape chunking choose performance slow rechunk',
  'How do I pass my own fetch':
    'custom authentication authorization auth token bearer header headers login password presigned signed url proxy',
  'How do I draw with': 'plot chart map visualize visualise draw render graph deck.gl globe bitmap image canvas',
  'How do I join': 'concatenate concat combine merge append many multiple daily files open_mfdataset mfdataset',
  'How do I get a `Float32Array`': 'two dimensional 2d nested array rows matrix grid lat lon float32',
  'Is longitude sorted': 'roll rolling shift wrap dateline antimeridian 180 360 longitudes ascending order sort monotonic',
  'How do I read complex': 'complex64 complex128 imaginary real compound structure types',
  'In which time zone': 'timezone utc local date gmt time zone dates daylight',
  'How do I publish': 'upload write cloudflare r2 bucket command line cli export publish',
  'Which browsers': 'browser support compatibility safari chrome firefox edge ios minimum version supported',
  'How big is it': 'bundle size kilobytes kb large weight bytes footprint package download gzipped',
}

/** Weights of pages that contain most words: reference, changes, rules. Default: 1. */
const WEIGHTS = [[/^(api|changelog|contributing|promises|commit-protocol)\//, 0.2]]

/** Writes words and weights into the built pages, from which Pagefind makes the index. */
export function prepareSearch(dist) {
  rmSync(join(dist, 'pagefind'), { recursive: true, force: true })
  for (const name of readdirSync(dist, { recursive: true })) {
    if (!name.endsWith('index.html')) continue
    const weight = WEIGHTS.find(([pages]) => pages.test(name))?.[1]
    const file = join(dist, name)
    const text = readFileSync(file, 'utf8')
    const weighed =
      weight === undefined ? text : text.replace('data-pagefind-body', `data-pagefind-body data-pagefind-weight="${weight}"`)
    const indexed = name === 'questions/index.html' ? withWords(weighed) : weighed
    if (indexed !== text) writeFileSync(file, indexed)
  }
}

/** Adds the words of each question to its heading. */
function withWords(html) {
  let text = html
  for (const [start, words] of Object.entries(WORDS)) {
    const title = start.replaceAll(/`(\w+)`/g, '<code[^>]*>$1</code>')
    const heading = new RegExp(`<h2([^>]*)>(?=${title})`)
    if (!heading.test(text)) throw new Error(`no heading begins with '${start}': correct site/search.mjs`)
    text = text.replace(heading, `<h2$1 data-words="${words}" data-pagefind-index-attrs="data-words" data-pagefind-weight="10">`)
  }
  return text
}
