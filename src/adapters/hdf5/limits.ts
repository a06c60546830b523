/** Limits of what one file may make the reader do. Files of the wild are far below them. */
export const LIMITS = {
  /** Blocks of one object header. */
  headerBlocks: 4096,
  /** Bytes of one structure of metadata. */
  structureBytes: 64 * 1024 * 1024,
  /** Nodes of one walk through a B-tree or a heap. */
  nodes: 1_000_000,
  /** Levels of one B-tree or heap. */
  depth: 32,
  /** Links or attributes of one object. */
  entries: 1_000_000,
  /** Soft and external links that one path may follow. */
  links: 32,
  /** Mappings of one virtual array. */
  mappings: 100_000,
  /** Blocks of one selection, and parts of one virtual array. */
  mappedBlocks: 100_000,
  /** Virtual arrays within one another. */
  virtualDepth: 16,
  /** Sources and mappings that one read leads to, through virtual arrays within one another. */
  sources: 250_000,
  /** Positions along one axis of a source, if they are in blocks of several. */
  listedPositions: 10_000_000,
  /** Comparisons of the blocks of one selection. */
  comparedBlocks: 100_000_000,
  /** Other files that are kept open. */
  otherFiles: 256,
  /** Names in one path. */
  pathNames: 128,
  /** Datatypes within one another. */
  typeDepth: 32,
  /** Axes of an array. */
  rank: 32,
  /** Bytes of one attribute that is read. */
  attributeBytes: 64 * 1024 * 1024,
}
