/**
 * Writes classic NetCDF files, value by value, for tests to read back. Knows no formula for offsets: it notes
 * where it is.
 */

const TYPES = { byte: [1, 1], char: [2, 1], short: [3, 2], int: [4, 4], float: [5, 4], double: [6, 8] } as const

export type WriterType = keyof typeof TYPES

export interface WriterAttribute {
  readonly name: string
  readonly type: WriterType
  /** Text is written as UTF-8; bytes may be given signed or unsigned. */
  readonly value: string | readonly number[]
}

export interface WriterVariable {
  readonly name: string
  readonly type: WriterType
  /** Names of dimensions. */
  readonly dimensions: readonly string[]
  readonly attributes?: readonly WriterAttribute[]
  /** In C order, all records; text as its bytes. */
  readonly values: readonly number[]
}

export interface WriterFile {
  readonly version?: 1 | 2
  /** Name and length; the record dimension has length 0. */
  readonly dimensions?: readonly (readonly [string, number])[]
  readonly records?: number
  /** Leaves the number of records open. */
  readonly streaming?: boolean
  readonly attributes?: readonly WriterAttribute[]
  readonly variables?: readonly WriterVariable[]
}

export const utf8 = (text: string): number[] => [...new TextEncoder().encode(text)]

/** The bytes of the file. */
export function writeNetcdf(file: WriterFile): Uint8Array {
  const headerBytes = writeHeader(
    file,
    (file.variables ?? []).map(() => 0),
  ).bytes.length
  const body = new Sink()
  const begins = writeBody(file, body)
  const header = writeHeader(
    file,
    begins.map((begin) => headerBytes + begin),
  )
  const bytes = new Uint8Array(headerBytes + body.bytes.length)
  bytes.set(header.bytes)
  bytes.set(body.bytes, headerBytes)
  return bytes
}

class Sink {
  readonly bytes: number[] = []
  readonly #scratch = new DataView(new ArrayBuffer(8))

  u32(value: number): void {
    this.value('int', value)
  }

  value(type: WriterType, value: number): void {
    if (type === 'float') this.#scratch.setFloat32(0, value)
    else if (type === 'double') this.#scratch.setFloat64(0, value)
    else if (type === 'int') this.#scratch.setInt32(0, value)
    else if (type === 'short') this.#scratch.setInt16(0, value)
    else this.#scratch.setUint8(0, value)
    for (let i = 0; i < TYPES[type][1]; i++) this.bytes.push(this.#scratch.getUint8(i))
  }

  values(type: WriterType, values: readonly number[]): void {
    for (const value of values) this.value(type, value)
  }

  pad(): void {
    while (this.bytes.length % 4 !== 0) this.bytes.push(0)
  }

  text(value: string): void {
    const bytes = utf8(value)
    this.u32(bytes.length)
    this.values('byte', bytes)
    this.pad()
  }

  list<T>(tag: number, items: readonly T[], write: (item: T, index: number) => void): void {
    this.u32(items.length === 0 ? 0 : tag)
    this.u32(items.length)
    items.forEach(write)
  }

  attributes(attributes: readonly WriterAttribute[]): void {
    this.list(12, attributes, ({ name, type, value }) => {
      const values = typeof value === 'string' ? utf8(value) : value
      this.text(name)
      this.u32(TYPES[type][0])
      this.u32(values.length)
      this.values(type, values)
      this.pad()
    })
  }
}

function writeHeader(file: WriterFile, begins: readonly number[]): Sink {
  const { version = 1, dimensions = [], records = 0, streaming = false, attributes = [], variables = [] } = file
  const sink = new Sink()
  sink.values('byte', [...utf8('CDF'), version])
  sink.u32(streaming ? 0xffffffff : records)
  sink.list(10, dimensions, ([name, length]) => {
    sink.text(name)
    sink.u32(length)
  })
  sink.attributes(attributes)
  sink.list(11, variables, (variable, index) => {
    sink.text(variable.name)
    sink.u32(variable.dimensions.length)
    for (const name of variable.dimensions) sink.u32(dimensions.findIndex((dimension) => dimension[0] === name))
    sink.attributes(variable.attributes ?? [])
    sink.u32(TYPES[variable.type][0])
    // The vsize, wrong on purpose: readers are to compute it.
    sink.u32(0xffffffff)
    if (version === 2) sink.u32(0)
    sink.u32(begins[index]!)
  })
  return sink
}

/** Writes the body; returns the offset of each variable from its start. */
function writeBody(file: WriterFile, sink: Sink): number[] {
  const { dimensions = [], records = 0, variables = [] } = file
  const growing = dimensions.find(([, length]) => length === 0)?.[0]
  const isRecord = (variable: WriterVariable): boolean => growing !== undefined && variable.dimensions[0] === growing
  const begins = variables.map((variable) => {
    const begin = sink.bytes.length
    if (!isRecord(variable)) {
      sink.values(variable.type, variable.values)
      sink.pad()
    }
    return begin
  })
  const alone = variables.filter(isRecord).length === 1
  const firstRecord = sink.bytes.length
  variables.forEach((variable, i) => {
    if (isRecord(variable)) begins[i] = firstRecord
  })
  for (let record = 0; record < records; record++) {
    variables.forEach((variable, i) => {
      if (!isRecord(variable)) return
      if (record === 0) begins[i] = sink.bytes.length
      const length = variable.values.length / records
      sink.values(variable.type, variable.values.slice(record * length, (record + 1) * length))
      if (!alone) sink.pad()
    })
  }
  return begins
}
