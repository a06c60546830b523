// Builds the site into site/dist from the pages of docs/. With --check, runs it in a browser; with --serve,
// shows it on this machine.
// Starlight needs a newer Node than the library. That Node is a dependency of the site.
import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { layOutData } from './data.mjs'
import { prepareSearch } from './search.mjs'

/** Address that astro.config.mjs uses for a site without one. */
const LOCAL = 'http://localhost:4321'
const site = fileURLToPath(new URL('.', import.meta.url))
const root = join(site, '..')
const content = join(site, 'src/content/docs')
const assets = join(site, 'public')

function run(program, args, cwd = site) {
  const env = { ...process.env, ASTRO_TELEMETRY_DISABLED: '1' }
  const { status } = spawnSync(program, args, { cwd, env, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}`)
}

/** Path of each page of the repository on the site. Links to other files become plain names. */
const PAGES = new Map([
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => [`docs/${name}`, name.slice(0, -3)]),
  ['SECURITY.md', 'security'],
  ['CHANGELOG.md', 'changelog'],
  ['CONTRIBUTING.md', 'contributing'],
  ['python/README.md', 'python'],
])

/** Path prefix of the API reference. */
const REFERENCE = 'api'

/** Converts links between pages of the repository to links of the site; copies pictures beside them. */
function withLinks(text, page) {
  const folder = page.includes('/') ? page.slice(0, page.lastIndexOf('/') + 1) : ''
  return text.replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (whole, picture, label, target) => {
    if (/^(https?:|#)/.test(target)) return whole
    const [path, hash] = target.split('#')
    const file = new URL(folder + path, 'file:///').pathname.slice(1)
    const fragment = hash === undefined ? '' : `#${hash}`
    if (PAGES.has(file)) return `[${label}](/${PAGES.get(file)}/${fragment})`
    if (!/\.(png|svg)$/.test(file)) return label
    const name = file.slice(file.lastIndexOf('/') + 1)
    copyFileSync(join(root, file), join(assets, name))
    return `${picture}[${label}](/${name})`
  })
}

function writePage(file, slug, linked) {
  const [, title, body] = /^# (.+)\n([\s\S]*)$/.exec(readFileSync(file, 'utf8'))
  const target = join(content, `${slug}.md`)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, `---\ntitle: ${JSON.stringify(title.replaceAll('`', ''))}\n---\n${linked(body)}`)
}

/** Returns how often each heading occurs in the text of a page. */
function countHeadings(body) {
  const times = new Map()
  for (const line of body.toLowerCase().match(/^#+ .*$/gm) ?? []) {
    const name = line.replace(/[^\w-]/g, '')
    times.set(name, (times.get(name) ?? 0) + 1)
  }
  return times
}

/**
 * Corrects an anchor of a page: the plugin numbers some headings as repeated although their name is unique.
 * @param times how often each heading of the page occurs
 */
function ownAnchor(anchor, times) {
  const [, name, number] = /^#(\w+)-(\d+)$/.exec(anchor) ?? []
  return name === undefined || times?.get(name) > number ? anchor : `#${name}`
}

/** Returns the path of a page. The plugin numbers `hyperslab/tree`, because there is a type `Tree`. */
const withoutNumber = (path) => path.replace(/-1$/, '')

/** Writes the API reference as pages of the site, one for each import name. */
function writeReference() {
  const made = join(root, 'build/reference')
  rmSync(made, { recursive: true, force: true })
  const options = ['--options', '../typedoc.json', '--plugin', 'typedoc-plugin-markdown', '--out', made, '--router', 'module']
  const looks = ['--hidePageHeader', '--hideBreadcrumbs', '--disableSources']
  run(process.execPath, ['node_modules/typedoc/bin/typedoc', ...options, ...looks, '--logLevel', 'Warn'])
  const names = readdirSync(made, { recursive: true }).filter((name) => name.endsWith('.md'))
  const headings = new Map(names.map((name) => [`/${name}`, countHeadings(readFileSync(join(made, name), 'utf8'))]))
  for (const name of names.filter((each) => each !== 'README.md')) {
    const url = new URL(name, 'file:///')
    const linked = (body) =>
      body
        .replace(/\]\((#[^)]*)\)/g, (_, anchor) => `](${ownAnchor(anchor, headings.get(url.pathname))})`)
        .replace(/\]\(([^)#:\s]+)\.md(#[^)]*)?\)/g, (_, path, anchor = '') => {
          const { pathname } = new URL(path, url)
          return `](/${REFERENCE}${withoutNumber(pathname)}/${ownAnchor(anchor, headings.get(`${pathname}.md`))})`
        })
    writePage(join(made, name), `${REFERENCE}/${withoutNumber(name.slice(0, -3))}`, linked)
  }
}

/**
 * Removes the origin, so that a site without an address works anywhere, and nothing names the machine that
 * built it.
 */
function withoutOrigin(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    const file = join(folder, name)
    if (/^sitemap.*\.xml$/.test(name)) rmSync(file)
    if (!/\.(html|txt)$/.test(name)) continue
    const text = readFileSync(file, 'utf8')
    const without = name.endsWith('.txt') ? text.replaceAll(`${LOCAL}/`, '') : text.replaceAll(LOCAL, '')
    writeFileSync(file, without.replaceAll('<link rel="sitemap" href="/sitemap-index.xml"/>', ''))
  }
}

for (const folder of [content, assets]) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
}
for (const [page, slug] of PAGES) writePage(join(root, page), slug, (body) => withLinks(body, page))
cpSync(join(site, 'pages'), content, { recursive: true })
cpSync(join(root, 'dist'), join(assets, 'hyperslab'), { recursive: true, filter: (name) => !/\.(map|d\.ts|1)$/.test(name) })
cpSync(join(site, 'scripts'), assets, { recursive: true })
mkdirSync(join(assets, 'data'))
await layOutData(join(assets, 'data'), (await import('../dist/dataset.js')).openDataset)
copyFileSync(join(root, 'docs/january.png'), join(assets, 'january.png'))
const node = join(site, 'node_modules/node/bin/node')
const astro = join(site, 'node_modules/astro/bin/astro.mjs')
// Versions are those of the lock file. `npm ci` is not used, because it rejects a lock file that was created
// behind a registry mirror, without the binaries of other platforms.
if (!existsSync(astro)) run('npm', ['install', '--no-save', '--no-fund', '--no-audit', '--ignore-scripts'])
// The install step of the package of Node.
if (!existsSync(node)) run(process.execPath, ['installArchSpecificPackage.js'], join(site, 'node_modules/node'))
writeReference()
run(node, [astro, 'build'])
if (process.env.SITE === undefined) withoutOrigin(join(site, 'dist'))
// Replaces the index that Starlight makes during the build, before the pages have these words.
prepareSearch(join(site, 'dist'))
run(node, ['node_modules/pagefind/lib/runner/bin.cjs', '--site', 'dist', '--silent'])
if (process.argv.includes('--check')) run(process.execPath, ['check.mjs'])
if (process.argv.includes('--serve')) run(node, [astro, 'preview'])
