import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const BENCH = fileURLToPath(new URL('../../bench', import.meta.url))
const files = readdirSync(BENCH, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.mjs'))

/** Processes that load a bundle of internals: their file, and the modules in the bundle. */
const OTHER_PROCESSES = {
  'start/first-calls.mjs': {
    name: 'loaded',
    modules: ['kernels/instance', 'kernels/arena', 'kernels/lz4', 'codec/zstd-frames', 'codec/zstd-wasm'],
    peers: ['decompressBlock', 'decompress'],
  },
}

/** A program's use of internal modules: their paths below `src`, and the names that it takes from them. */
interface Use {
  readonly modules: readonly string[]
  readonly names: readonly string[]
}

const members = (code: string, name: string): string[] =>
  [...code.matchAll(new RegExp(`\\b${name}\\.(\\w+)`, 'g'))].map(([, member]) => member!)

/** Finds what a program takes of `await internals(…)`: names in braces, or members of one name. */
function usesIn(code: string): Use[] {
  return [...code.matchAll(/const (\{[^}]*\}|\w+) =\s*await internals\(([^)]*)\)/g)].map(([, target, args]) => {
    const modules = [...args!.matchAll(/'([^']+)'/g)].map(([, module]) => module!)
    if (!target!.startsWith('{')) return { modules, names: members(code, target!) }
    return { modules, names: [...target!.matchAll(/[{,]\s*(\w+)/g)].map(([, name]) => name!) }
  })
}

async function missing({ modules, names }: Use): Promise<string[]> {
  const loaded = await Promise.all(modules.map((module) => import(/* @vite-ignore */ `../../src/${module}.ts`)))
  return names.filter((name) => !loaded.some((exports) => name in exports))
}

describe('programs of the bench', () => {
  const uses = files.flatMap((file) => usesIn(readFileSync(join(BENCH, file), 'utf8')).map((use) => ({ file, ...use })))

  test('that load internal modules are found', () => {
    expect(uses.length).toBeGreaterThan(8)
    expect(uses.every(({ names }) => names.length > 0)).toBe(true)
  })

  test.each(uses.filter(({ modules }) => modules.length > 0))('$file takes names that exist', async (use) => {
    expect(await missing(use)).toEqual([])
  })

  test.each(Object.entries(OTHER_PROCESSES))('%s takes names that exist', async (file, { name, modules, peers }) => {
    const names = members(readFileSync(join(BENCH, file), 'utf8'), name)
    expect(await missing({ modules, names: names.filter((each) => !peers.includes(each)) })).toEqual([])
  })
})
