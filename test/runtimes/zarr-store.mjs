// A Zarr store as zarr-python 3.1.6 writes it: one group with consolidated metadata, arrays of several
// codecs, one in shards.

/** The metadata of the group and of all that is in it. */
export const METADATA = {
  attributes: { title: 'a small store' },
  zarr_format: 3,
  consolidated_metadata: {
    kind: 'inline',
    must_understand: false,
    metadata: {
      blosc: {
        shape: [5, 7, 6],
        data_type: 'float32',
        chunk_grid: { name: 'regular', configuration: { chunk_shape: [2, 4, 6] } },
        chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
        fill_value: -1.0,
        codecs: [
          { name: 'bytes', configuration: { endian: 'little' } },
          { name: 'blosc', configuration: { typesize: 4, cname: 'zstd', clevel: 5, shuffle: 'bitshuffle', blocksize: 0 } },
        ],
        attributes: {},
        zarr_format: 3,
        node_type: 'array',
        storage_transformers: [],
      },
      gzip: {
        shape: [5, 7, 6],
        data_type: 'int64',
        chunk_grid: { name: 'regular', configuration: { chunk_shape: [3, 7, 6] } },
        chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
        fill_value: 0,
        codecs: [
          { name: 'bytes', configuration: { endian: 'little' } },
          { name: 'gzip', configuration: { level: 5 } },
        ],
        attributes: {},
        zarr_format: 3,
        node_type: 'array',
        storage_transformers: [],
      },
      names: {
        shape: [4],
        data_type: 'string',
        chunk_grid: { name: 'regular', configuration: { chunk_shape: [3] } },
        chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
        fill_value: '',
        codecs: [
          { name: 'vlen-utf8', configuration: {} },
          { name: 'zstd', configuration: { level: 0, checksum: false } },
        ],
        attributes: {},
        zarr_format: 3,
        node_type: 'array',
        storage_transformers: [],
      },
      shards: {
        shape: [5, 7, 6],
        data_type: 'int16',
        chunk_grid: { name: 'regular', configuration: { chunk_shape: [2, 8, 6] } },
        chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
        fill_value: -1,
        codecs: [
          {
            name: 'sharding_indexed',
            configuration: {
              chunk_shape: [1, 4, 3],
              codecs: [
                { name: 'bytes', configuration: { endian: 'little' } },
                { name: 'zstd', configuration: { level: 3, checksum: false } },
              ],
              index_codecs: [{ name: 'bytes', configuration: { endian: 'little' } }, { name: 'crc32c' }],
              index_location: 'end',
            },
          },
        ],
        attributes: {},
        zarr_format: 3,
        node_type: 'array',
        storage_transformers: [],
      },
    },
  },
  node_type: 'group',
}

/** The other objects, in base64. */
export const CHUNKS = {
  'blosc/c/0/0/0':
    'AgGUBMAAAADAAAAAaQAAABQAAABRAAAAKLUv/SDARQIAAgQNF8AlHUBwvQor851hv+v/v9c+TgU811YK/9+DlPwtYAZrX0HjFYKISgUzU59QdR++z/a3DwYAuABTHozQOKvlPGotOoE2',
  'blosc/c/0/1/0':
    'AgGUBMAAAADAAAAAcgAAABQAAABaAAAAKLUv/SDAjQIA5AMAAP//AwD/AwAAqqoCAKoCMzMDqswAPDwAzPAAwD8A8AADAMAD/wD8/////wD8AAD8AP8AAPz//wMA/AAA/AYAXQiG7kmLTUI1jiUoOAEs',
  'blosc/c/1/0/0':
    'AgGUBMAAAADAAAAAYAAAABQAAABIAAAAKLUv/SDA/QEANAIAAPz/A6iqMjMzzMzMw8PDDw8PA/wD8A/wAwD8/w8A8P///woAQTnQMWC+wjBVQVNxOSoGLtrLCWBhmQAW',
  'blosc/c/1/1/0':
    'AgGUBMAAAADAAAAAbQAAABQAAABVAAAAKLUv/SDAZQIAZAMAAP//A///A6qqAqqqAjMzA8zMAMPDAw8PA/wDAA/wA/8DAPD/AwD8////AAD8AAD8//wAAPwHAGAgQOdB5gA4gtBUfi9DkQlgAQ==',
  'blosc/c/2/0/0':
    'AgGUBMAAAADAAAAAVgAAABQAAAA+AAAAKLUv/SDArQEA0AAA////qqqqAAAAzMzMAAAA8PDwAP//////CgBZFZDSgagCcBxkDqCpRtBsUKu+aO5R0AY=',
  'blosc/c/2/1/0': 'AgGUBMAAAADAAAAATwAAABQAAAA3AAAAKLUv/SDAdQEAoAAA//8DqqoCAAAAzMzw8AAAA/z/CgBTcZDioeYAcDKeagYwIBRiYPlLMR4FWA==',
  'gzip/c/0/0/0':
    'H4sIAPELA2sA/yXPaVAMAByG8VybI2IbitSgMBXlSsw6KlQ0OyabI2IdrStXTDaqIeVYogzLKFKuDt0HnVtqu69FbUqpNmq7NtWmWon3P54vv8+Pmtr/usPM2H9R3SZu0Cgs/HGv7Q9MvilaRYYZKXxG4L1Svcrf0PM0ey55XNP7hAruTIh+NwytOfXjSLOBKQ5DcO5jVsggnLTWtfMX/FUXtIZs8Sq5PgAl+qpPSpiVYzSPjDrsdLofPh4vSO+Dfm9S1Uk3O7ljLzzQof3iJ7T3t+3pgWtM+evIhZI3AgVknpdKu2lEi2FIdqWYu3XB2t08UScsGH44hUwKFu/pgKHrla/b4d1Gg345vOzDsSSPGfjebYOO+Yl1rdDqmGwxaTqJ6f4D6r61yv0OJ7LdNMkBRahzC5QFSiJlsHKF2mAzzKwy20xGXuTeb4KPdAK+NULfdJEJec5Z4fEN7h/VK2iA20LZWqSFtffBemj4PTrmK5xxo15VB0cXa9iRncUsYS384uoq+wLzpwabkYlxJV418LmDqlgK/fuNtMlLQieXanjUQpBQBTm1qaOfoaWn3J5cqqfz5BOck23b+hGqH+KvJJVjw69KYPMraXklrLBh6JIZcvPjFTDiNi+lHAqXCMeS1yrE28vg2XPKp6XQmWnYUQK3JnMsyNW7fP2KocFQ4sciOD1Ipk/+YTFPFcKOBqu0AlhzxY1BiueHcfJhQp4kVAxDeGqKPHhHfRmL9Ijk3sqFPPuA6g9wR7doAbkxQHE2By5Zrp+VDWd/Zk8mGe7eu0Wwf1bMqyzYlFrfmwnL92psJNNHWP4ZMDzEtTYdPrQMXkT6yEoupMEzfqqcVLhvkfE00q7Iad97aH5SEPEOLtBIG0iBmrFya3Jku05gMmzvtW1IgtIHfGMyzzycnwjja6TiBPjsEoNJ3tZdzY2H/CxedBx04QqHY6HDmHwbcsNL5YMYaLLFsDka6rRxTMkJAl/Pt7DPOKkoCjaWyWaSZWeYRyJh2nTr+Aj4D0aISEXwAwAA',
  'gzip/c/1/0/0':
    'H4sIAPELA2sA/+3F6U8SABgHYMpj1ehYZeFWpou2cHMxYqwD26pZ2IqaYxVurtTpKo/CA8oERCpEUxTDAzQjVLYKW1qS8wNmo1a0qcuyNcyWM+kY0UYtsUa/93/oY8+Xp7tX9sceDocbJdYDdMXP0eZuXNDCmOnC6Tu4PHq/94S6E/NVhhc2nBDviqWXDftzb+L57Lj7VuyLEi+gX9mV4ht4ONVh6cB3v3h913FbLVNA67cIte1YPpY32oaziy3r6SMxnjMWnOwMOc04UZoYRa+dl6a14sh2fUcL/r5r4Gszfvfet532VLJ0TfghWzRuwl1PFAm08ZS98BpWL5kYbMT5d6IX01Kx4KgR7wvk2BrwVqMpUI/j+e5keunrYLUBhxTsN3V4NlayiR4f1BbV4kcZfa6ruCf8gUlbrCvTa3DV3j32alw6IwvqcZbOups+zBmrq8JCD8Orw5wCLodes/yk/AqOuGd4fBkH0lwr6MmgP+MSft4Ud1uLndvEvypx51tlCt1Q7jBqsCpucqoC5w0xk+jjWcIyNU6JzH+qwrxuy2p6g8iTqcTMz6GecjxXk/j7Iv6YlJ5KvxzRN5XhIdnA9AXsWPWJS5sfsFTnse6YyKPAJXMKFp1psefIsTh5orcU75yKZtCbNYJDJThmY665GC90m2aL8LdcN5/2LvqhkeFnt9gj53D/Qck62ubXnj6L6+v7+guxkjcdQTP++6f+Al88ob3wAwAA',
  'names/c/0': 'KLUv/SAfvQAAeAMAAAAFAAAAbsKwIDAxMgIAgAgkyhc=',
  'names/c/1': 'KLUv/SAVqQAAAwAAAAUAAABuwrAgMwAAAAAAAAAA',
  'shards/c/0/0/0':
    'KLUv/SAYwQAAKgArACwAMAAxADIANgA3ADgAPAA9AD4AKLUv/SAYwQAAQgBDAEQASABJAEoATgBPAFAA////////KLUv/SAYwQAALQAuAC8AMwA0ADUAOQA6ADsAPwBAAEEAKLUv/SAYwQAARQBGAEcASwBMAE0AUQBSAFMA/////////////////////////////////////////////////////////////////////////////////////////////wAAAAAAAAAAIQAAAAAAAABCAAAAAAAAACEAAAAAAAAAIQAAAAAAAAAhAAAAAAAAAGMAAAAAAAAAIQAAAAAAAABlm28y',
  'shards/c/1/0/0':
    'KLUv/SAYwQAAVABVAFYAWgBbAFwAYABhAGIAZgBnAGgAKLUv/SAYwQAAfgB/AIAAhACFAIYAigCLAIwAkACRAJIAKLUv/SAYwQAAbABtAG4AcgBzAHQAeAB5AHoA////////KLUv/SAYwQAAlgCXAJgAnACdAJ4AogCjAKQA////////KLUv/SAYwQAAVwBYAFkAXQBeAF8AYwBkAGUAaQBqAGsAKLUv/SAYwQAAgQCCAIMAhwCIAIkAjQCOAI8AkwCUAJUAKLUv/SAYwQAAbwBwAHEAdQB2AHcAewB8AH0A////////KLUv/SAYwQAAmQCaAJsAnwCgAKEApQCmAKcA////////AAAAAAAAAAAhAAAAAAAAAIQAAAAAAAAAIQAAAAAAAABCAAAAAAAAACEAAAAAAAAAxgAAAAAAAAAhAAAAAAAAACEAAAAAAAAAIQAAAAAAAAClAAAAAAAAACEAAAAAAAAAYwAAAAAAAAAhAAAAAAAAAOcAAAAAAAAAIQAAAAAAAAB+2hV9',
  'shards/c/2/0/0':
    'KLUv/SAYwQAAqACpAKoArgCvALAAtAC1ALYAugC7ALwAKLUv/SAYwQAAwADBAMIAxgDHAMgAzADNAM4A////////KLUv/SAYwQAAqwCsAK0AsQCyALMAtwC4ALkAvQC+AL8AKLUv/SAYwQAAwwDEAMUAyQDKAMsAzwDQANEA////////AAAAAAAAAAAhAAAAAAAAAEIAAAAAAAAAIQAAAAAAAAAhAAAAAAAAACEAAAAAAAAAYwAAAAAAAAAhAAAAAAAAAP////////////////////////////////////////////////////////////////////////////////////+GbO0Z',
}
