import { describe, expect, test } from 'vitest'
import type { Fetch, FetchInit } from '../../src/store/http/fetch.ts'
import { parseS3Url, S3Address } from '../../src/store/s3/address.ts'
import { parsePage } from '../../src/store/s3/answers.ts'
import { S3Store, type S3StoreOptions } from '../../src/store/s3/s3.ts'

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'geheim' }

interface Reply {
  readonly status?: number
  readonly body?: string
}

/** A store whose requests go nowhere, and what it sends. */
function recorded(options: Partial<S3StoreOptions> = {}, reply: (nth: number) => Reply = () => ({})) {
  const sent: ({ url: string } & FetchInit)[] = []
  const fetch: Fetch = async (url, init) => {
    sent.push({ url, ...init })
    const { status = 200, body = '' } = reply(sent.length - 1)
    return new Response(body, { status, headers: { etag: '"1"' } })
  }
  return { store: new S3Store({ bucket: 'data', fetch, retryDelay: 1, ...options }), sent }
}

test.each<[string, Partial<S3StoreOptions>, string]>([
  ['Amazon, in front of the host', {}, 'https://data.s3.us-east-1.amazonaws.com/a/b%20c'],
  ['another region', { region: 'eu-central-1' }, 'https://data.s3.eu-central-1.amazonaws.com/a/b%20c'],
  ['a bucket with a dot, in the path', { bucket: 'my.data' }, 'https://s3.us-east-1.amazonaws.com/my.data/a/b%20c'],
  ['in the path if told so', { addressing: 'path' }, 'https://s3.us-east-1.amazonaws.com/data/a/b%20c'],
  ['another server, in the path', { endpoint: 'http://127.0.0.1:9000' }, 'http://127.0.0.1:9000/data/a/b%20c'],
  ['below a path', { endpoint: 'https://example.org/s3/' }, 'https://example.org/s3/data/a/b%20c'],
  [
    'another server, in front',
    { endpoint: 'https://s3.example.org', addressing: 'virtual' },
    'https://data.s3.example.org/a/b%20c',
  ],
])('addresses: %s', async (_, options, url) => {
  const { store, sent } = recorded(options)
  await store.put('a/b c', Uint8Array.of(1))
  expect(sent[0]!.url).toBe(url)
})

test('requests are signed for their region, again for each repetition, and without what is changed on the way', async () => {
  let asked = 0
  const credentials = async () => ({ ...KEYS, sessionToken: `token ${asked++}` })
  const headers = { 'x-amz-request-payer': 'requester' }
  const { store, sent } = recorded({ region: 'eu-west-1', credentials, headers }, (nth) => ({ status: nth === 0 ? 503 : 200 }))
  await store.put('x', Uint8Array.of(1))
  expect(sent.map(({ headers }) => headers['x-amz-security-token'])).toEqual(['token 0', 'token 1'])
  const { authorization = '' } = sent[1]!.headers
  expect(authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/s3\/aws4_request, /)
  const signed = /SignedHeaders=([^,]*)/.exec(authorization)![1]!.split(';')
  expect(signed).toEqual(
    expect.arrayContaining(['host', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-request-payer', 'x-amz-security-token']),
  )
  expect(signed.filter((name) => name !== 'host' && !name.startsWith('x-amz-'))).toEqual([])
})

test('403 is an error that tells what to do, unless it is said to mean that there is no object', async () => {
  const refused = (options: Partial<S3StoreOptions> = {}) => recorded(options, () => ({ status: 403 })).store
  await expect(refused().get('x')).rejects.toThrow(
    'pass `notFound: [403, 404]` to read there all the same, or `listing: false` to new S3Store',
  )
  expect(await refused({ notFound: [403, 404] }).get('x')).toBeUndefined()
  expect(await refused({ listing: false }).get('x')).toBeUndefined()
})

test('without credentials nothing is signed', async () => {
  const { store, sent } = recorded()
  await store.put('x', Uint8Array.of(1))
  expect(sent[0]!.headers).not.toHaveProperty('authorization')
})

test('Amazon is trusted to honour conditions, other servers are tried once', async () => {
  const publish = async (store: S3Store): Promise<unknown> =>
    (await store.stage('x')).publish('x', Uint8Array.of(1), { ifAbsent: true }).catch((error: unknown) => error)
  const amazon = recorded()
  await publish(amazon.store)
  expect(amazon.sent.map(({ method, headers }) => [method, headers['if-none-match']])).toEqual([['PUT', '*']])

  // One that takes no notice of conditions: nothing is written where something could be.
  const careless = recorded({ endpoint: 'http://127.0.0.1:9000' })
  const refused = { tag: 'UnsupportedError', message: expect.stringMatching(/ignores If-None-Match/) }
  expect(await publish(careless.store)).toMatchObject(refused)
  expect(await publish(careless.store)).toMatchObject(refused)
  expect(careless.sent.map(({ method, url }) => `${method} ${url.replace(/[0-9a-f]{24}/, '…')}`)).toEqual(
    ['PUT', 'PUT', 'DELETE'].map((method) => `${method} http://127.0.0.1:9000/data/x.….tmp`),
  )
  await careless.store.put('x', Uint8Array.of(1))
})

test.each([
  ['ignores If-Match', () => true, /stores objects.*; .*deletes objects/],
  ['never finds a match', () => false, /stores objects.*; .*deletes objects/],
  ['wants quotes', (tag: string, now: string) => tag === now, undefined],
  ['wants none', (tag: string, now: string) => `"${tag}"` === now, undefined],
] as const)('a server that %s is found out once, with a temporary object', async (_, matches, reason) => {
  const objects = new Map<string, string>()
  let versions = 0
  const sent: string[] = []
  const fetch: Fetch = async (url, { method, headers }) => {
    sent.push(method)
    const now = objects.get(url)
    const tag = headers['if-match']
    if (tag !== undefined && (now === undefined || !matches(tag, now))) return new Response('', { status: 412 })
    if (method === 'PUT') objects.set(url, `"${versions++}"`)
    if (method === 'DELETE') objects.delete(url)
    const etag = objects.get(url)
    if (etag === undefined) return new Response(null, { status: method === 'DELETE' ? 204 : 404 })
    return new Response(method === 'HEAD' ? null : '', { headers: { etag, ...(method === 'HEAD' && { 'content-length': '1' }) } })
  }
  // Amazon's is asked, too.
  const store = new S3Store({ bucket: 'data', fetch, retryDelay: 1 })
  const can = await store.conditionalWrites('x')
  expect(can).toEqual(
    reason ? { replace: false, remove: false, reason: expect.stringMatching(reason) } : { replace: true, remove: true },
  )
  expect(objects.size).toBe(0)
  await store.put('x', Uint8Array.of(1))
  const { etag } = (await store.stat('x'))!
  sent.length = 0
  const stage = await store.stage('x')
  const replaced = stage.publish('x', Uint8Array.of(2), { ifAbsent: false, ifMatch: etag })
  if (reason) {
    await expect(replaced).rejects.toMatchObject({ tag: 'UnsupportedError' })
    await expect(store.delete('x', { ifMatch: etag })).rejects.toMatchObject({ tag: 'UnsupportedError' })
    return expect(sent).toEqual([])
  }
  const info = await replaced
  await expect(store.delete('x', { ifMatch: etag })).rejects.toMatchObject({
    tag: 'ConflictError',
    details: { actual: info.etag },
  })
  await store.delete('x', { ifMatch: info.etag })
  await store.delete('x', { ifMatch: info.etag })
  expect(objects.size).toBe(0)
})

test('completing an upload that fails although its status is 200 is repeated; on Amazon parts are completed with the condition', async () => {
  const done = '<CompleteMultipartUploadResult><ETag>&quot;abc-2&quot;</ETag></CompleteMultipartUploadResult>'
  let completions = 0
  const MIB = 2 ** 20
  const sent: ({ url: string } & FetchInit)[] = []
  const fetch: Fetch = async (url, init) => {
    sent.push({ url, ...init })
    if (init.method === 'HEAD') return new Response(null, { status: 404 })
    if (init.method === 'DELETE') return new Response(null, { status: 204 })
    if (url.endsWith('?uploads=')) return new Response('<R><UploadId>u&amp;1</UploadId></R>')
    if (init.headers['x-amz-copy-source']) return new Response('<CopyPartResult><ETag>"c"</ETag></CopyPartResult>')
    if (init.method === 'POST') return new Response(completions++ === 0 ? '<Error><Code>InternalError</Code></Error>' : done)
    return new Response('', { headers: { etag: '"p"' } })
  }
  const store = new S3Store({ bucket: 'data', fetch, retryDelay: 1, partBytes: 5 * MIB })
  const stage = await store.stage('x')
  await stage.append(new Uint8Array(5 * MIB))
  await stage.append(new Uint8Array(10))
  expect(await stage.publish('y', Uint8Array.of(1), { ifAbsent: true })).toEqual({ size: 5 * MIB + 11, etag: '"abc-2"' })
  await stage.discard()
  const log = sent.map(({ method, url }) => `${method} ${url.replace(/^.*\/|[0-9a-f]{24}/g, '')}`)
  expect(log).toEqual([
    'PUT x..tmp',
    'HEAD y',
    'POST y?uploads=',
    'PUT y?partNumber=1&uploadId=u%261',
    'PUT y?partNumber=2&uploadId=u%261',
    'POST y?uploadId=u%261',
    'POST y?uploadId=u%261',
    'DELETE x..tmp',
  ])
  expect(sent[3]!.headers['x-amz-copy-source']).toMatch(/^\/data\/x\.[0-9a-f]{24}\.tmp$/)
  expect(sent[5]!.headers['if-none-match']).toBe('*')
  expect(new TextDecoder().decode(sent[6]!.body)).toBe(
    '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>&#34;c&#34;</ETag></Part>' +
      '<Part><PartNumber>2</PartNumber><ETag>&#34;p&#34;</ETag></Part></CompleteMultipartUpload>',
  )
})

describe('listings', () => {
  test('keys are encoded by some servers as forms are, by some not at all', () => {
    const page = (inside: string) =>
      parsePage(`<?xml version="1.0"?><ListBucketResult xmlns="x">${inside}</ListBucketResult>\n`, 'f')
    const contents = (key: string) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`
    expect(page(`<EncodingType>url</EncodingType><Prefix>p</Prefix>${contents('a+b%2B%26')}${contents('%C3%BC')}`).keys).toEqual([
      'a b+&',
      'ü',
    ])
    expect(page(`${contents('a+%41 &amp;&lt;&#x41;&#66;')}`).keys).toEqual(['a+%41 &<AB'])
    expect(page('<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>').next).toBe('a&b')
    expect(page('<IsTruncated>true</IsTruncated>').truncated).toBe(true)
    expect(page('<IsTruncated>false</IsTruncated><NextContinuationToken>a</NextContinuationToken>').truncated).toBe(false)
  })

  test('a folder alone is listed by a delimiter, with the folders in it', async () => {
    const folder = (name: string) => `<CommonPrefixes><Prefix>${name}</Prefix></CommonPrefixes>`
    const body = `<ListBucketResult><EncodingType>url</EncodingType><Prefix>g/</Prefix><Contents><Key>g/x</Key></Contents>${folder('g/a+b/')}${folder('g/c/')}<IsTruncated>false</IsTruncated></ListBucketResult>`
    const { store, sent } = recorded({}, () => ({ body }))
    expect(await store.list!('g/', { shallow: true })).toEqual(['g/x', 'g/a b/', 'g/c/'])
    await store.list!('g/')
    expect(sent.map(({ url }) => new URL(url).searchParams.get('delimiter'))).toEqual(['/', null])
  })

  test('half an answer is asked for again, and a server that goes round in circles is left', async () => {
    const page = '<ListBucketResult><Contents><Key>a</Key></Contents><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>' // biome-ignore format: one line
    const { store, sent } = recorded({}, (nth) => ({ body: nth === 0 ? page.slice(0, 40) : page }))
    await expect(store.list!('')).rejects.toThrow(/same page/)
    expect(sent.length).toBe(3)
    expect(new URL(sent[2]!.url).searchParams.get('continuation-token')).toBe('t')
  })

  test('a server that always says that more follows is left, as is one that does not say where', async () => {
    const page = (key: string, token: string) =>
      `<ListBucketResult><Contents><Key>${key}</Key></Contents><IsTruncated>true</IsTruncated>${token}</ListBucketResult>`
    const { store, sent } = recorded({}, (nth) => ({
      body: page('a', `<NextContinuationToken>${nth}</NextContinuationToken>`),
    }))
    await expect(store.list!('')).rejects.toMatchObject({ tag: 'StoreError', message: expect.stringContaining('same page') })
    expect(sent.length).toBe(22)
    const { store: silent } = recorded({}, () => ({ body: page('a', '') }))
    await expect(silent.list!('p')).rejects.toMatchObject({
      tag: 'StoreError',
      message: expect.stringMatching(/^s3:\/\/data\/p: .*does not say where/),
    })
  })
})

test('s3:// locations', () => {
  expect(parseS3Url('s3://data/a/b c%20+?#.af')).toEqual({ bucket: 'data', key: 'a/b c%20+?#.af' })
  for (const url of ['s3://data', 's3://data/', 's3:///x', 'http://data/x', 'x']) {
    expect(() => parseS3Url(url), url).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
  }
})

test.each<[Partial<S3StoreOptions>, RegExp]>([
  [{ bucket: '' }, /bucket/],
  [{ bucket: 'a/b' }, /bucket/],
  [{ endpoint: 'localhost:9000' }, /endpoint/],
  [{ endpoint: 'http://h/?a=1' }, /endpoint/],
  [{ partBytes: 2 ** 20 }, /partBytes must be an integer from 5242880 to 1073741824, got 1048576/],
  [{ partBytes: Number.NaN }, /partBytes must be an integer/],
  [{ maxRequests: 0 }, /maxRequests/],
])('options that cannot be: %j', (options, message) => {
  expect(() => recorded(options)).toThrow(message)
})

test('keys that no URL can name are refused', () => {
  const address = new S3Address({ bucket: 'data' })
  for (const key of ['..', 'a/../b', './a']) expect(() => address.url(key), key).toThrow(/no URL/)
  expect(address.url('a/.../b..')).toBe('https://data.s3.us-east-1.amazonaws.com/a/.../b..')
})
