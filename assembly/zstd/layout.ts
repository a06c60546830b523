/**
 * Positions of the tables: in the memory of the kernels, behind the static data of this module and below the
 * arena, at constant addresses. They persist between the blocks of a frame.
 *
 * A state of an FSE table has 16 bytes, with everything that a sequence needs:
 *
 *     u16 next state, times 16 | u8 bits added to the base | u8 bits added to the next state
 *     u32 base | u32 mask of the bits of the next state, times 16 | u32 mask of the bits added to the base
 *
 * Functions of this folder return an address or an error code; every error code is smaller than any address.
 */
export const zstdTables: usize = 0x15000
export const LITERAL_LENGTHS: usize = 0x15000 // 512 states
export const MATCH_LENGTHS: usize = 0x17000 // 512 states
export const OFFSETS: usize = 0x19000 // 256 states
export const WEIGHT_STATES: usize = 0x1a000 // 64 states
export const WEIGHTS: usize = 0x1a400 // 256 of u8
/** Indexed by the next 11 bits: u8 bits of the code, u8 symbol. */
export const HUFFMAN: usize = 0x1a800
export const COUNTS: usize = 0x1b800 // 64 of i16
export const BASES: usize = 0x1b900 // 64 of u32
export const NEXT_STATES: usize = 0x1ba00 // 64 of u16
export const FILLS: usize = 0x1bb00 // 16 of u32
export const REPEATED_OFFSETS: usize = 0x1bc00 // 3 of u32
/** Accuracy of each of the three tables of sequences, as u32. */
export const ACCURACIES: usize = 0x1bc10
/** End of the tables: `scripts/embed-kernels.mjs` checks that the arena begins behind it. */
export const zstdEnd: usize = 0x1bc20

/** Positions of the fields of a state. */
export const ADDED_BITS: usize = 2
export const NEXT_BITS: usize = 3
export const BASE: usize = 4
export const NEXT_MASK: usize = 8
export const ADDED_MASK: usize = 12

/**
 * Number of sequences that may exceed their input before this is checked: by 15 literals and 7 bytes each.
 */
export const MOST_BATCH: u32 = 4096

/** Accuracy of a table that no block of the frame has defined yet. */
export const NONE: u32 = 255
/** Largest content of a block: 128 KiB. */
export const MOST_LITERALS: usize = 0x20000

export const INPUT_TRUNCATED: usize = 1
export const BAD_BLOCK: usize = 2
export const BAD_LITERALS: usize = 3
export const BAD_HUFFMAN: usize = 4
export const BAD_TABLE: usize = 5
export const BAD_SEQUENCES: usize = 6
export const BAD_OFFSET: usize = 7
export const OUTPUT_OVERFLOW: usize = 8
export const OUTPUT_SHORT: usize = 9
export const TRAILING_INPUT: usize = 10
export const LAST_ERROR: usize = 10
