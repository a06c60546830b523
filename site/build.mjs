// Builds the site into site/dist, of the pages of docs/ as they are; with --check runs it in a browser, with --serve shows it on this machine.
// Starlight needs a newer Node than the library: it is a dependency of the site.
import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { layOutData } from './data.mjs'

const site = fileURLToPath(new URL('.', import.meta.url))
const root = join(site, '..')
const content = join(site, 'src/content/docs')
const assets = join(site, 'public')

function run(program, args, cwd = site) {
  const env = { ...process.env, ASTRO_TELEMETRY_DISABLED: '1' }
  const { status } = spawnSync(program, args, { cwd, env, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}`)
}

/** Where a page of the repository is on the site. What is not on it stays a name. */
const PAGES = new Map([
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => [`docs/${name}`, name.slice(0, -3)]),
  ['SECURITY.md', 'security'],
  ['CHANGELOG.md', 'changelog'],
  ['CONTRIBUTING.md', 'contributing'],
  ['python/README.md', 'python'],
])

/** Links between pages of the repository as links of the site; pictures are copied beside them. */
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

function writePage(page, slug) {
  const [, title, body] = /^# (.+)\n([\s\S]*)$/.exec(readFileSync(join(root, page), 'utf8'))
  const frontmatter = `---\ntitle: ${JSON.stringify(title.replaceAll('`', ''))}\n---\n`
  writeFileSync(join(content, `${slug}.md`), frontmatter + withLinks(body, page))
}

for (const folder of [content, assets]) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
}
for (const [page, slug] of PAGES) writePage(page, slug)
cpSync(join(site, 'pages'), content, { recursive: true })
cpSync(join(root, 'dist'), join(assets, 'hyperslab'), { recursive: true, filter: (name) => !/\.(map|d\.ts|1)$/.test(name) })
cpSync(join(site, 'scripts'), assets, { recursive: true })
mkdirSync(join(assets, 'data'))
await layOutData(join(assets, 'data'), (await import('../dist/dataset.js')).openDataset)
copyFileSync(join(root, 'docs/january.png'), join(assets, 'january.png'))
if (existsSync(join(root, 'build/api'))) cpSync(join(root, 'build/api'), join(assets, 'api'), { recursive: true })
const node = join(site, 'node_modules/node/bin/node')
const astro = join(site, 'node_modules/astro/bin/astro.mjs')
// Versions are those of the lock file. Not `npm ci`, which takes one that was made behind a registry mirror, without the binaries of other
// platforms, for an error.
if (!existsSync(astro)) run('npm', ['install', '--no-save', '--no-fund', '--no-audit', '--ignore-scripts'])
// What the package of Node would do when it is installed.
if (!existsSync(node)) run(process.execPath, ['installArchSpecificPackage.js'], join(site, 'node_modules/node'))
run(node, [astro, 'build'])
if (process.argv.includes('--check')) run(process.execPath, ['check.mjs'])
if (process.argv.includes('--serve')) run(node, [astro, 'preview'])
