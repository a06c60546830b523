/** Limits of the resources that one file may request. Real files stay far below them. */
export const TIFF_LIMITS = {
  /** Directories of one file. */
  directories: 65_536,
  /** Entries of one directory. */
  entries: 65_536,
  /** Bytes of the values of one tag, except for tables of tiles. */
  valueBytes: 16 * 1024 * 1024,
  /** Bytes of all directories, and of the values of their tags. */
  keptBytes: 256 * 1024 * 1024,
  /** Samples of one pixel. */
  samples: 65_536,
  /** Depth of directories in directories. */
  depth: 4,
}
