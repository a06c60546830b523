import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AllowedPlaces } from '../../src/cluster/bullmq/allow.ts'
import { asWritable } from '../../src/store/writer.ts'
import { storeOfReferences } from '../../src/tree/reference-store.ts'

let outside: string
let data: string
beforeAll(async () => {
  outside = await realpath(await mkdtemp(join(tmpdir(), 'hyperslab-allow-')))
  data = join(outside, 'data')
  await mkdir(join(data, 'sub'), { recursive: true })
  await mkdir(join(outside, 'data2'))
  await mkdir(join(outside, 'real'))
  for (const name of ['secret', 'data/x.af', 'data/x.1.af', 'data2/x.af', 'real/x.af']) await writeFile(join(outside, name), name)
  await symlink(join(outside, 'secret'), join(data, 'link.af'))
  await symlink('..', join(data, 'up'))
  await symlink('sub', join(data, 'within'))
  await symlink('..', join(data, 'sub/top'))
  await mkdir(join(outside, 'far/away'), { recursive: true })
  await symlink(join(outside, 'far/away'), join(data, 'away'))
  await symlink(join(outside, 'real'), join(outside, 'alias'))
  await writeFile(join(data, 'refs.json'), `${' '.repeat(20)}{".zgroup":"{}"}`)
})
afterAll(() => rm(outside, { recursive: true }))

const refusal = { tag: 'InvalidArgumentError', message: expect.stringContaining('may not') }

describe('what a worker may touch', () => {
  test('of files is what lies in the folder, however it is named', async () => {
    const places = new AllowedPlaces([data])
    const url = pathToFileURL(data).href
    for (const location of [
      data,
      `${data}/`,
      join(data, 'x.af'),
      `${data}/sub/../x.af`,
      `${data}/sub/top/x.af`,
      `${data}/within/../x.af`,
      `${data}/not/there.zarr`,
      `${data}/within/y.zarr`,
      `${url}/x.af`,
      `${url}/%78.af`,
    ])
      await (await places.resolve(location)).store.close?.()
    const hostile = [
      outside,
      `${data}2/x.af`,
      `${data}/../secret`,
      `${data}/sub/../../secret`,
      join(data, 'link.af'),
      `${data}/up/secret`,
      `${data}/up/new.zarr`,
      // `..` behind a link is the folder above the link's target.
      `${data}/sub/top/../secret`,
      `${data}/sub/top/../new.zarr`,
      `${data}/away/../x.af`,
      `${data}/within/top/./../secret`,
      `${url}/../secret`,
      `${url}/%2e%2e/secret`,
      `${url}/..%2fsecret`,
      `${url}/..?/x.af`,
      `${url}/..#/x.af`,
      `file://${data}/x/../../secret`,
      '/etc/passwd',
      'package.json',
    ]
    for (const location of hostile) await expect(places.resolve(location), location).rejects.toMatchObject(refusal)
  })

  test('a worker checks each used key, also keys from metadata and references', async () => {
    const { store } = await new AllowedPlaces([data]).resolve(join(data, 'x.af'))
    expect(await store.stat(join(data, 'x.1.af'))).toBeDefined()
    const work = [
      () => store.get!(join(outside, 'secret')),
      () => store.stat(`${data}/../secret`),
      () => store.getRange(join(data, 'link.af'), 0, 2),
      () => asWritable(store).put(`${data}/up/new`, new Uint8Array(1)),
      () => asWritable(store).put(`${data}/sub/top/../new`, new Uint8Array(1)),
      () => asWritable(store).delete(`${data}/sub/top/../secret`),
      () => store.files!.makeFolder(`${data}/up/new/x`),
      () => asWritable(store).stage(join(outside, 'new')),
      () => asWritable(store).delete(join(outside, 'secret')),
      () => store.list!(`${outside}/`),
    ]
    for (const each of work) await expect(each()).rejects.toMatchObject(refusal)
  })

  test('may be a folder that is a link, and a file with its sidecars', async () => {
    await new AllowedPlaces([join(outside, 'alias')]).resolve(join(outside, 'alias/x.af'))
    await new AllowedPlaces([join(outside, 'alias')]).resolve(join(outside, 'real/x.af'))
    const file = new AllowedPlaces([join(data, 'x.af')])
    const { store } = await file.resolve(join(data, 'x.af'))
    expect(await store.stat(join(data, 'x.1.af'))).toBeDefined()
    for (const name of ['refs.json', 'x', 'x.af2', 'x.env', 'x.py', 'x.af.py', 'x.01.af', 'x.stats2', 'sub/x.1.af'])
      await expect(file.resolve(join(data, name)), name).rejects.toMatchObject(refusal)
  })

  test('of the web is what is below a URL, as it is requested', async () => {
    const places = new AllowedPlaces(['https://Example.org:443/data/', 's3://bucket/a'])
    for (const location of [
      'https://example.org/data/x.af',
      'HTTPS://EXAMPLE.org:443/data/sub/../x.af',
      'https://example.org/data',
      's3://bucket/a/x.zarr',
      's3://bucket/a',
    ])
      await places.resolve(location)
    const hostile = [
      'https://example.org/data2/x.af',
      'https://example.org/data/../x.af',
      'https://example.org/data/%%2f..%2f..%2fsecret/x.af',
      'https://example.org/data/%ff%2f..%2f..%2fsecret/x.af',
      'https://example.org/data/%zz%252f%252e%252e%252fsecret/x.af',
      'https://example.org/data/..?/data/x.af',
      'https://example.org/data/..#/x.af',
      'https://example.org/data/.\t./x.af',
      'https://example.org/data/.\n./x.af',
      'https://example.org/data/%2e%2e/x.af',
      'https://example.org/data/%2E./x.af',
      'https://example.org/data/..%2fx.af',
      'https://example.org/data/%252e%252e%252fx.af',
      'https://example.org/data/..\\x.af',
      'https://example.org/data/..%5cx.af',
      'https://example.org:8443/data/x.af',
      'http://example.org/data/x.af',
      'https://example.org@evil.org/data/x.af',
      'https://evil.org/?https://example.org/data/',
      's3://bucket/ab/x.zarr',
      's3://bucket2/a/x.zarr',
      's3://bucket/a/../b/x.zarr',
      's3://bucket/b',
    ]
    for (const location of hostile)
      await expect(places.resolve(location), location).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test('a worker checks each redirect again', async () => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url!)
      const to = { '/data/out': '/secret', '/data/within': '/data/x', '/data/twice': '/data/out' }[request.url!]
      if (to !== undefined) response.writeHead(302, { location: to }).end()
      else response.writeHead(200, { 'content-length': 4, etag: '"1"' }).end('text')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const places = new AllowedPlaces([`${origin}/data`])
    const { store, path } = await places.resolve(`${origin}/data/within`)
    expect((await store.stat(path))?.size).toBe(4)
    for (const name of ['out', 'twice'])
      await expect(store.stat(`${origin}/data/${name}`)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(store.stat(`${origin}/secret`)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    expect(asked).not.toContain('/secret')
    server.close()
  })

  test('is never what references name, however their file begins', async () => {
    const { store, path } = await new AllowedPlaces([data]).resolve(join(data, 'refs.json'))
    await expect(storeOfReferences(store, path, {})).rejects.toMatchObject({
      message: expect.stringContaining('references may name others'),
    })
  })
})
