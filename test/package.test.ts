import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = new URL('..', import.meta.url).pathname
const pkg = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

test('every exported file exists, types first', () => {
  for (const [name, entry] of Object.entries<string | Record<string, string>>(pkg.exports)) {
    if (typeof entry === 'object') expect(Object.keys(entry), name).toEqual(['types', 'default'])
    for (const file of typeof entry === 'string' ? [entry] : Object.values(entry))
      expect(existsSync(join(root, file)), file).toBe(true)
  }
  expect(existsSync(join(root, pkg.bin.hyperslab))).toBe(true)
})

test('installing it installs nothing else', () => {
  expect(pkg.dependencies).toBeUndefined()
  const bundled = readFileSync(join(root, 'dist/THIRD-PARTY.txt'), 'utf8')
  for (const name of ['@assemblyscript/loader', 'commander', 'fzstd', 'lru-cache'])
    expect(bundled).toMatch(new RegExp(`^${name} \\d`, 'm'))
})

test('the public names', async () => {
  const entry = await import(join(root, 'dist/index.js'))
  expect(Object.keys(entry).sort()).toMatchInlineSnapshot(`
    [
      "ChunkGrid",
      "DiskArray",
      "FileStore",
      "HyperslabError",
      "MemoryStore",
      "RegularChunks",
      "create",
      "isHyperslabError",
      "open",
      "plan",
      "projectAxis",
      "projectBox",
      "resolveSelection",
      "slice",
    ]
  `)
})

test('the types need neither the DOM nor Node', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-types-'))
  try {
    const use = `import { open, slice } from '${join(root, 'dist/types/runtime/index.js')}'
import { openNetcdf } from '${join(root, 'dist/types/adapters/netcdf/index.js')}'
const file = await open('a.af')
const box: Float32Array = (await file.array('x', 'float32').get([0, slice(2)])).data
const one: bigint = await file.array('y', 'int64').get([0, 1])
const sums: Float64Array = (await file.array('x', 'float32').sum({ axis: 0 })).data
const sum: bigint = await file.array('y', 'int64').sum()
export { box, one, sums, sum, openNetcdf }
`
    writeFileSync(join(folder, 'use.mts'), use)
    const compilerOptions = {
      noEmit: true,
      strict: true,
      target: 'es2022',
      lib: ['es2022', 'esnext.disposable'],
      module: 'nodenext',
      types: [],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.mts'] }))
    const { stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
      encoding: 'utf8',
    })
    expect(stdout).toBe('')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
