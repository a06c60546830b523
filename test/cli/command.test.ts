import { readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { nativeEncoder } from '../../src/codec/zstd-encode.ts'
import { create, open } from '../../src/runtime/index.ts'
import { contents, hyperslab, hyperslabAlone, NETCDF, onTerminal, smallContainer, temporaryFolder } from './support.ts'

describe('get', () => {
  test('prints text', async () => {
    const folder = await smallContainer()
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['get', 'small.af', 't', '0,1:,::-2'])
    expect([stdout, stderr, exitCode]).toEqual(['[[ 7  5]\n [11  9]]\n', '', 0])
  })

  test('takes selections that start with a minus sign', async () => {
    const { stdout } = await hyperslab(await smallContainer(), ['get', 'small.af', 't', '-1,-1,-1'])
    expect(stdout).toBe('23\n')
  })

  test('prints JSON, 64-bit integers as strings', async () => {
    const folder = await smallContainer()
    const { stdout } = await hyperslab(folder, ['get', 'small.af', 'id', '--format', 'json'])
    expect(JSON.parse(stdout)).toEqual({ dtype: 'int64', shape: [2], data: ['9007199254740993', '-1'] })
    const { stdout: one } = await hyperslab(folder, ['get', 'small.af', 't', '0,0,1', '-f', 'json'])
    expect(JSON.parse(one)).toEqual({ dtype: 'float32', shape: [], data: [1] })
  })

  test('prints little-endian bytes', async () => {
    const { bytes } = await hyperslab(await smallContainer(), ['get', 'small.af', 't', '0,0', '--format', 'bytes'])
    expect([0, 4, 8, 12].map((at) => bytes.readFloatLE(at))).toEqual([0, 1, 2, 3])
    expect(bytes.length).toBe(16)
  })

  test('has no bytes for strings', async () => {
    const { stdout, stderr, exitCode } = await hyperslab(await smallContainer(), ['get', 'small.af', 'name', '--format', 'bytes'])
    expect([stdout, stderr, exitCode]).toEqual([
      '',
      "hyperslab: small.af: array 'name': string values have no fixed width; use --format text or json\n",
      1,
    ])
  })

  test('shortens long text on a terminal unless told not to, and never in a pipe', async () => {
    const folder = await temporaryFolder()
    {
      await using file = await create(join(folder, 'long.af'))
      await file.createArray('a', { dtype: 'int16', shape: [1001] }).set(
        null,
        Int16Array.from({ length: 1001 }, (_, i) => i),
      )
      await file.flush()
    }
    const short = '[   0    1    2 ...  998  999 1000]\r\n'
    expect(onTerminal(folder, ['get', 'long.af', 'a'])).toBe(short)
    const all = onTerminal(folder, ['get', 'long.af', 'a', '--full'])
    expect(all.match(/\d+/g)).toHaveLength(1001)
    const { stdout } = await hyperslab(folder, ['get', 'long.af', 'a'])
    expect(stdout).toBe(all.replaceAll('\r\n', '\n'))
  })
})

describe('reduce', () => {
  test('along axes, by name or number', async () => {
    const folder = await smallContainer()
    const byName = await hyperslab(folder, ['reduce', 'small.af', 't', '--op', 'max', '--axis', 'lat,lon'])
    expect(byName).toMatchObject({ stdout: '[11 23]\n', exitCode: 0 })
    const byNumber = await hyperslab(folder, ['reduce', 'small.af', 't', '--op', 'max', '--axis', '-1,1', '-f', 'json'])
    expect(JSON.parse(byNumber.stdout)).toEqual({ dtype: 'float32', shape: [2], data: [11, 23] })
  })

  test('of everything, with and without missing values', async () => {
    const folder = await smallContainer()
    const sum = async (...more: string[]) => (await hyperslab(folder, ['reduce', 'small.af', 't', '--op', 'sum', ...more])).stdout
    expect(await sum()).toBe('264\n')
    expect(await sum('--keep-missing')).toBe('_\n')
    expect(await sum('--keep-missing', '--raw')).toBe('-735\n')
    const { stdout } = await hyperslab(folder, ['reduce', 'small.af', 't', '--op', 'mean', '--format', 'json'])
    expect(JSON.parse(stdout)).toEqual({ dtype: 'float64', shape: [], data: [264 / 23] })
  })

  test('of 64-bit integers stays exact', async () => {
    const { stdout } = await hyperslab(await smallContainer(), ['reduce', 'small.af', 'id', '--op', 'sum', '--format', 'json'])
    expect(JSON.parse(stdout)).toEqual({ dtype: 'int64', shape: [], data: ['9007199254740992'] })
  })

  test.each([
    [['reduce', 'small.af', 't', '--op', 'sum', '--axis', 'height'], 1, /^hyperslab: small\.af: array 't': .*height/],
    [['reduce', 'small.af', 'name', '--op', 'sum'], 1, /^hyperslab: small\.af: array 'name': /],
    [['reduce', 'small.af', 't', '--op', 'sum', '--axis', 'lat,'], 2, /^hyperslab: axis 'lat,' has an empty name\n$/],
    [['reduce', 'small.af', 't'], 2, /^hyperslab: required option '--op <op>' not specified\n$/],
    [['reduce', 'small.af', 't', '--op', 'mode'], 2, /^hyperslab: .*Allowed choices are sum, mean, min, max, .*unique\.\n$/],
  ])('fails: %j', async (args, exitCode, message) => {
    const run = await hyperslab(await smallContainer(), args)
    expect(run).toMatchObject({ exitCode, stdout: '' })
    expect(run.stderr).toMatch(message)
  })
})

describe('plot', () => {
  test('draws shades where there is no terminal', async () => {
    const { stdout, stderr, exitCode } = await hyperslab(await smallContainer(), ['plot', 'small.af', 't', '1', '--width', '20'])
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(stdout.split('\n')).toEqual([
      't: temperature (K)',
      'time 1 = 2000-02-01 00:00',
      '10N ####%%%%@@@@@@@@',
      '    ####%%%%@@@@@@@@',
      '    ----====++++****',
      '    ----====++++****',
      '        ........::::',
      '10S     ........::::',
      '    0    lon    270E',
      '13 .::-=++*#%%@ 23 K',
      '1 missing value left blank',
      '',
    ])
  })

  test('draws colours when told to', async () => {
    const { stdout } = await hyperslab(await smallContainer(), ['plot', 'small.af', 't', '0', '--color', 'always'], {
      COLORTERM: 'truecolor',
    })
    expect(stdout).toContain('\x1b[38;2;')
    const { stdout: few } = await hyperslab(await smallContainer(), ['plot', 'small.af', 't', '0', '--color', 'always'])
    expect(few).toContain('\x1b[38;5;')
    expect(few).not.toContain(';2;')
  })

  test.each([
    [
      ['plot', 'small.af', 't', '0,0,0'],
      1,
      "hyperslab: small.af: array 't': the selection leaves one element of an array of shape [2, 3, 4], which get shows\n",
    ],
    [
      ['plot', 'small.af', 't', '0', '--width', 'wide'],
      2,
      "hyperslab: option '--width <columns>' argument 'wide' is invalid. It must be an integer from 10 to 1000.\n",
    ],
  ])('fails: %j', async (args, exitCode, stderr) => {
    expect(await hyperslab(await smallContainer(), args)).toMatchObject({ exitCode, stderr, stdout: '' })
  })
})

describe('info', () => {
  test('shows arrays, values, attributes and layers', async () => {
    const { stdout, exitCode } = await hyperslab(await smallContainer(), ['info', 'small.af', '--attributes'], { COLUMNS: '300' })
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^small\.af: 6 arrays, 2 files, /)
    expect(stdout).toMatch(/^ {2}t +float32 +time 2, lat 3, lon 4 +1 x 3 x 4 +2 +96 B /m)
    expect(stdout).toMatch(/^ {2}t +0 +23 +1 +24 +K$/m)
    expect(stdout).toMatch(/^ {2}name +"one" +"two \\"2\\"" +0 +2$/m)
    expect(stdout).toMatch(/^ {2}title +string +a small container$/m)
    expect(stdout).toMatch(/^ {2}long_name +string +temperature$/m)
    expect(stdout).toMatch(/^ +1 +small\.1\.af .* 1 +all +1 +48 B +\d\.\d\d : 1 {2}t$/m)
  })

  test('lets no text of the file steer the terminal', async () => {
    const folder = await temporaryFolder()
    {
      await using file = await create(join(folder, 'c.af'))
      const a = file.createArray('a\x1b[2J', { dtype: 'float32', shape: [2, 2] })
      a.attrs.set('units', 'K\x07').set('long_name', '\u009b1m')
      await a.set(null, [1, 2, 3, 4])
      await file.flush()
    }
    for (const args of [
      ['info', 'c.af', '--attributes'],
      ['plot', 'c.af', 'a\x1b[2J'],
      ['get', 'c.af', '\x1b[2J'],
    ]) {
      const { stdout, stderr } = await hyperslab(folder, args)
      expect(stdout + stderr).not.toMatch(/(?!\n)\p{Cc}/u)
      expect((stdout + stderr).length).toBeGreaterThan(10)
    }
  })

  test('as JSON', async () => {
    const { stdout } = await hyperslab(await smallContainer(), ['info', 'small.af', '--json'])
    const { arrays, attributes, layers, totals } = JSON.parse(stdout)
    expect(arrays.map(({ name }: { name: string }) => name)).toEqual(['t', 'time', 'lat', 'lon', 'id', 'name'])
    expect(arrays[0]).toMatchObject({
      dtype: 'float32',
      shape: [2, 3, 4],
      chunkShape: [1, 3, 4],
      chunks: 2,
      storedChunks: 2,
      bytes: 96,
      fillValue: -999,
      statistics: { min: 0, max: 23, nullCount: 1, rowCount: 24 },
      attributes: { units: { type: 'string', value: 'K' } },
    })
    expect(arrays[4].statistics).toMatchObject({ min: '-1', max: '9007199254740993' })
    expect(attributes).toEqual({ title: { type: 'string', value: 'a small container' } })
    expect(layers.map(({ number, file }: { number: number; file: string }) => [number, file])).toEqual([
      [0, 'small.af'],
      [1, 'small.1.af'],
    ])
    expect(totals.fileBytes).toBe(layers.reduce((sum: number, { bytes }: { bytes: number }) => sum + bytes, 0))
  })

  test('reads no data where statistics are stored', async () => {
    const folder = await temporaryFolder()
    {
      await using file = await create(join(folder, 'c.af'), { codec: 'lz4' })
      await file.createArray('a', { dtype: 'uint8', shape: [5000] }).set(
        null,
        Uint8Array.from({ length: 5000 }, (_, i) => i % 251),
      )
      const packed = file.createArray('packed', { dtype: 'int16', shape: [5000], fillValue: -1 })
      packed.attrs.set('scale_factor', 0.5)
      await packed.set(
        null,
        Int16Array.from({ length: 5000 }, (_, i) => (i % 251) - 1),
      )
      await file.flush()
      await file.compact()
    }
    const bytes = await readFile(join(folder, 'c.af'))
    // Blocks come first: reading a damaged block reports the error.
    bytes.fill(0xff, 0, 64)
    await writeFile(join(folder, 'c.af'), bytes)
    expect(await hyperslab(folder, ['get', 'c.af', 'a'])).toMatchObject({ exitCode: 1 })
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['info', 'c.af'])
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(stdout).toMatch(/^ {2}a +0 +250 +0 +5000$/m)
    expect(stdout).toMatch(/^ {2}packed +0 +124\.5 +20 +5000$/m)
    const max = await hyperslab(folder, ['reduce', 'c.af', 'packed', '--op', 'max'])
    expect([max.stderr, max.stdout]).toEqual(['', '124.5\n'])
  })
})

describe('compact', () => {
  test('leaves one file with the same values', async () => {
    const folder = await smallContainer()
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['compact', 'small.af'])
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(stdout).toMatch(/^small\.af\n {2}before +2 files .* B\n {2}after +1 file .* B\n$/)
    expect([...(await contents(folder)).keys()]).toEqual(['small.af', 'small.stats'])
    await using file = await open(join(folder, 'small.af'))
    expect(await file.array('t').get([1, 2, 3])).toBe(23)
  })
})

describe('verify', () => {
  test('tells what it has looked at', async () => {
    const folder = await smallContainer()
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['verify', 'small.af', '--deep'])
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(stdout).toMatch(
      /^small\.af: nothing is wrong\n {2}looked at 2 files, 7 arrays, 7 chunks in 4 blocks \(\d+ B\)\n {2}compared statistics of 6 arrays and 6 chunks with the elements\n$/,
    )
  })

  test('prints a line for each finding and fails', async () => {
    const folder = await smallContainer()
    for (const [name, at] of [
      ['small.af', 3],
      ['small.1.af', 2],
    ] as const) {
      const bytes = await readFile(join(folder, name))
      bytes[at]! ^= 1
      await writeFile(join(folder, name), bytes)
    }
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['verify', 'small.af'])
    expect([stderr, exitCode]).toEqual(['', 1])
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(
        /^error: small\.af: block 0: the bytes as stored: the checksum is .*; in it: 't', 'time', 'lat', 'lon', 'id' and 1 more$/,
      ),
      expect.stringMatching(/^error: small\.1\.af: block 0: array 't': the bytes as stored: the checksum is /),
      'small.af: 2 errors, 0 warnings',
      expect.stringContaining('looked at 2 files'),
      '  statistics were not compared with the elements: --deep does',
      '',
    ])
    const { stdout: base } = await hyperslab(folder, ['verify', 'small.af', '--layer', '0', '--json'])
    expect(JSON.parse(base)).toMatchObject({ ok: false, findings: [{ severity: 'error', file: 'small.af', block: 0 }] })
  })

  test('looks into what does not open, and says what cannot be checked', async () => {
    const folder = await temporaryFolder()
    {
      await using file = await create(join(folder, 'c.af'), { extensionBlocks: false })
      await file.createArray('a', { dtype: 'uint8', shape: [4] }).set(null, 1)
      await file.flush()
      await file.array('a').set([0], 2)
      await file.flush()
    }
    await truncate(join(folder, 'c.af'), 100)
    expect(await hyperslab(folder, ['info', 'c.af'])).toMatchObject({ exitCode: 1, stdout: '' })
    const { stdout, exitCode } = await hyperslab(folder, ['verify', 'c.af'])
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/^error: c\.af: the file ends in .*\nc\.af: 1 error, 0 warnings\n/)
    expect(stdout).toContain('  1 block without a checksum: changed bytes show there only where they do not decode\n')
  })
})

describe('import', () => {
  test('makes a container', async () => {
    const folder = await temporaryFolder()
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['import', NETCDF, 'c.af', '--codec', 'none'])
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(stdout).toMatch(/^c\.af: 7 arrays, /)
    expect((await hyperslab(folder, ['get', 'c.af', 'time', ':2'])).stdout).toBe('[2005-01-16T12:00 2005-02-15T00:00]\n')
    expect(await hyperslab(folder, ['import', NETCDF, 'c.af'])).toMatchObject({
      exitCode: 1,
      stderr: 'hyperslab: c.af: the file exists already; --overwrite replaces it\n',
    })
    expect(await hyperslab(folder, ['import', NETCDF, 'c.af', '--overwrite'])).toMatchObject({ exitCode: 0 })
  })

  test('with zstd, the harder the smaller; compact changes the codec', async () => {
    const folder = await temporaryFolder()
    const bytesAfter = async (...args: string[]): Promise<number> => {
      expect(await hyperslab(folder, args)).toMatchObject({ exitCode: 0, stderr: '' })
      return (await readFile(join(folder, 'c.af'))).length
    }
    const most = await bytesAfter('import', NETCDF, 'c.af', '--codec', 'none')
    const lz4 = await bytesAfter('compact', 'c.af')
    const zstd = await bytesAfter('compact', 'c.af', '--codec', 'zstd')
    const hard = await bytesAfter('import', NETCDF, 'c.af', '--overwrite', '--codec', 'zstd', '--level', '19')
    // Our own kernel knows no levels.
    expect([most > lz4, lz4 > zstd, zstd > hard || nativeEncoder() === undefined]).toEqual([true, true, true])
    const { stdout, exitCode } = await hyperslab(folder, ['verify', 'c.af', '--deep'])
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('c.af: nothing is wrong\n')])
  })

  test('of a truncated file fails and leaves nothing behind', async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'in.nc'), await readFile(NETCDF))
    await truncate(join(folder, 'in.nc'), 400_000)
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['import', 'in.nc', 'c.af'])
    expect([stdout, exitCode]).toEqual(['', 1])
    expect(stderr).toMatch(/^hyperslab: in\.nc: [^\n]+\n$/)
    expect([...(await contents(folder)).keys()]).toEqual(['in.nc'])
  })

  test.each([
    [
      ['import', 'none.nc', 'c.af'],
      1,
      'hyperslab: none.nc: there is neither a container, nor a NetCDF file, nor an HDF5 file, nor a TIFF file, nor a Zarr store\n',
    ],
    [
      ['import', '.', 'c.af'],
      1,
      'hyperslab: .: there is neither a container, nor a NetCDF file, nor an HDF5 file, nor a TIFF file, nor a Zarr store\n',
    ],
    [['import', NETCDF, 'c.af', '--names', 'tas'], 2, `hyperslab: --names is for Zarr stores, which ${NETCDF} is not\n`],
    [['import', 'in.nc', 'c.nc'], 2, "hyperslab: the name of the output ends in .af or .zarr, 'c.nc' does not\n"],
    [['import', 'in.nc'], 2, 'hyperslab: what comes of in.nc? Give the output as the last argument, or as --output\n'],
    [
      ['import', 'in.nc', 'c.af', '--codec', 'zip'],
      2,
      "hyperslab: option '--codec <codec>' argument 'zip' is invalid. Allowed choices are lz4, zstd, none, gzip, zlib, blosc.\n",
    ],
    [['import', 'in.nc', 'c.af', '--codec', 'gzip'], 2, 'hyperslab: --codec gzip is for Zarr; containers have lz4, zstd, none\n'],
    [['import', 'a.nc', 'b.nc', 'c.af', '--names', 'tas'], 2, 'hyperslab: --names is for one input that becomes a container\n'],
    [['import', 'a.nc', 'c.zarr', '--dim', 'time'], 2, 'hyperslab: --dim is for several inputs, which are joined\n'],
    [
      ['import', 'a.nc', 'c.zarr', '--block-bytes', '9'],
      2,
      'hyperslab: --block-bytes is for containers, and the output is Zarr\n',
    ],
    [['import', 'a.nc', 'c.af', '--shards', 'x=9'], 2, 'hyperslab: --shards is for Zarr, and the output is a container\n'],
    [['import', 'a.nc', 'b.nc', '-o', 'c.af', '--task-bytes', '9'], 2, 'hyperslab: --task-bytes is for --queue and --dry-run\n'],
    [['import', 'in.nc', 'c.af', '--level', '3'], 2, 'hyperslab: --level is for --codec zstd, not lz4\n'],
    [
      ['import', 'in.nc', 'c.af', '--codec', 'zstd', '--level', '23'],
      2,
      "hyperslab: option '--level <number>' argument '23' is invalid. It must be an integer from 0 to 22.\n",
    ],
    [
      ['import', 'in.nc', 'c.af', '--chunk-bytes', '-1'],
      2,
      "hyperslab: option '--chunk-bytes <bytes>' argument '-1' is invalid. It must be like 512MiB, 2GB or a number of bytes.\n",
    ],
    [
      ['import', 'in.nc', 'c.af', '--block-bytes', '2GiB'],
      2,
      "hyperslab: option '--block-bytes <bytes>' argument '2GiB' is invalid. It must be from 1 to 1073741824 bytes.\n",
    ],
  ])('fails: %j', async (args, exitCode, stderr) => {
    const folder = await temporaryFolder()
    expect(await hyperslab(folder, args)).toMatchObject({ exitCode, stderr, stdout: '' })
    expect(await contents(folder)).toEqual(new Map())
  })
})

test('arrays that are read in parts are printed whole and in order', async () => {
  const folder = await temporaryFolder()
  const shape = [3, 700, 1100]
  {
    await using file = await create(join(folder, 'large.af'))
    const data = Float64Array.from({ length: 3 * 700 * 1100 }, (_, i) => i % 1000)
    await file.createArray('a', { dtype: 'float64', shape, chunks: [2, 100, 1100] }).set(null, data)
    await file.flush()
  }
  const expected = Array.from({ length: 3 * 700 * 1100 }, (_, i) => i % 1000)
  const { stdout } = await hyperslab(folder, ['get', 'large.af', 'a'])
  expect(stdout.startsWith('[[[  0   1   2')).toBe(true)
  expect(stdout.match(/\d+/g)!.map(Number)).toEqual(expected)
  const json = await hyperslab(folder, ['get', 'large.af', 'a', '--json'])
  expect(JSON.parse(json.stdout)).toEqual({ dtype: 'float64', shape, data: expected })
  const { bytes } = await hyperslab(folder, ['get', 'large.af', 'a', '-f', 'bytes'])
  expect(new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))).toEqual(
    Float64Array.from(expected),
  )
})

test('a reader of stdout that stops early is no failure', async () => {
  const folder = await temporaryFolder()
  {
    await using file = await create(join(folder, 'long.af'))
    await file.createArray('a', { dtype: 'int32', shape: [500_000] }).set(
      null,
      Int32Array.from({ length: 500_000 }, (_, i) => i),
    )
    await file.flush()
  }
  const { exitCode, stderr, stdout } = await hyperslabAlone(folder, ['get', 'long.af', 'a', '--full'], { closeEarly: true })
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^\[/)
})

test('a process of its own prints and ends as the one that other tests share', async () => {
  const folder = await smallContainer()
  for (const args of [['info', 'small.af'], ['get', 'small.af', 't', '1,0'], ['get', 'none.af', 't'], ['fetch'], []]) {
    expect(await hyperslabAlone(folder, args)).toEqual(await hyperslab(folder, args))
  }
})

describe('failures', () => {
  test.each([
    [['get', 'none.af', 't'], 1, 'hyperslab: none.af: there is no such file\n'],
    [['info', 'none.af'], 1, 'hyperslab: none.af: there is no such file\n'],
    [['compact', 'none.af'], 1, 'hyperslab: none.af: there is no such file\n'],
    [['verify', 'none.af'], 1, 'hyperslab: none.af: there is no such file\n'],
    [['compact', 'none.af', '--level', '3'], 2, 'hyperslab: --level is for --codec zstd, not lz4\n'],
    [['get', 'small.af', 't', '5'], 1, "hyperslab: small.af: array 't': index 5 is out of bounds for axis 0 of length 2\n"],
    [['get', 'small.af', 't', '0,0,0,0'], 1, "hyperslab: small.af: array 't': 4 selectors for 3 axes\n"],
    [
      ['get', 'small.af', 't', '0,one'],
      2,
      "hyperslab: selection '0,one': 'one' (axis 1) is neither an integer nor start:stop:step\n",
    ],
    [['get', 'small.af', 't', '--fromat', 'json'], 2, "hyperslab: unknown option '--fromat' (Did you mean --format?)\n"],
    [['get', 'small.af', 't', '0', '1'], 2, /^hyperslab: too many arguments for 'get'\. Expected 3 arguments but got 4[^\n]*\n$/],
    [['fetch'], 2, "hyperslab: unknown command 'fetch'\n"],
  ])('%j', async (args, exitCode, message) => {
    const { stdout, stderr, exitCode: actual } = await hyperslab(await smallContainer(), args)
    expect([actual, stdout]).toEqual([exitCode, ''])
    if (typeof message === 'string') expect(stderr).toBe(message)
    else expect(stderr).toMatch(message)
  })

  test('name the arrays there are', async () => {
    const { stderr, exitCode } = await hyperslab(await smallContainer(), ['get', 'small.af', 'nope'])
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^hyperslab: small\.af: array 'nope': [^\n]*t, time, lat, lon, id, name[^\n]*\n$/)
  })

  test('come with a stack only when DEBUG is set', async () => {
    const folder = await temporaryFolder()
    expect((await hyperslab(folder, ['info', 'x.af'])).stderr.split('\n')).toHaveLength(2)
    expect((await hyperslab(folder, ['info', 'x.af'], { DEBUG: '1' })).stderr).toContain('    at ')
  })
})

describe('the command itself', () => {
  test.each(['import', 'info', 'get', 'reduce', 'plot', 'verify', 'compact'])('%s --help has an example', async (name) => {
    const { stdout, stderr, exitCode } = await hyperslab('.', [name, '--help'])
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(stdout).toContain(`Usage: hyperslab ${name}`)
    expect(stdout).toMatch(new RegExp(`Example.*\n  \\$ hyperslab ${name} `))
  })

  test('prints its version', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
    expect(await hyperslab('.', ['--version'])).toMatchObject({ stdout: `${version}\n`, exitCode: 0 })
  })

  test('without arguments helps, which is no success', async () => {
    const { stdout, stderr, exitCode } = await hyperslab('.', [])
    expect([stdout, exitCode]).toEqual(['', 2])
    expect(stderr).toContain('Usage: hyperslab')
  })
})

describe('--layer', () => {
  test('shows the state that a layer left', async () => {
    const folder = await smallContainer()
    {
      await using file = await open(join(folder, 'small.af'))
      await file.array('t').set([0, 0, 0], 99)
      await file.flush()
    }
    const first = async (...more: string[]) => (await hyperslab(folder, ['get', 'small.af', 't', '0,0,0', ...more])).stdout
    expect([await first(), await first('--layer', '1')]).toEqual(['99\n', '0\n'])
    const { stdout } = await hyperslab(folder, ['reduce', 'small.af', 't', '--op', 'max', '--layer', '1'])
    expect(stdout).toBe('23\n')
    const none = await hyperslab(folder, ['get', 'small.af', 't', '--layer', '7'])
    expect([none.stderr, none.exitCode]).toEqual(['hyperslab: small.af: there is no layer 7; there are 0, 1, 2\n', 1])
  })
})
