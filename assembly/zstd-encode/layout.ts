/**
 * Positions of the tables: in the memory of the kernels, at the addresses of the decoder's tables
 * (`zstd/layout.ts`). Both modules rebuild their tables for each frame. The static data of this module are
 * behind the tables and below the arena.
 */

export const zstdEncodeTables: usize = 0x15000
/** Counts of each byte, as 4 x 256 u32. */
export const BYTE_COUNTS: usize = 0x15000
/** Huffman code of each symbol, as u32: bits of the code (8), the code (11). */
export const CODES: usize = 0x16000
/** Symbols by their counts, as 256 u32, and a work area of the same size. */
export const ORDER: usize = 0x16400
export const TREE: usize = 0x16800
/** Weight of each symbol, as u8; 0 if it does not occur. */
export const WEIGHTS: usize = 0x16c00

/**
 * FSE tables for encoding, 2 KiB each:
 *
 *     512 of u16 states | 64 of {i32 bits, i32 state}, by symbol | 64 of u32 counts of symbols | u32 accuracy
 */
export const LITERAL_LENGTHS: usize = 0x17000
export const OFFSETS: usize = 0x17800
export const MATCH_LENGTHS: usize = 0x18000
export const WEIGHT_TABLE: usize = 0x18800
export const CHANGES: usize = 0x400
export const COUNTS: usize = 0x600
export const ACCURACY: usize = 0x700

/** Number of states of each symbol of a table, as 64 i16; -1 for less than one. */
export const SHARES: usize = 0x19000
/** Position of the next entry of each symbol (64 u16) or weight (16 u32). */
export const STARTS: usize = 0x19100
/** Symbols of the states of a table, as 512 u8. */
export const SPREAD: usize = 0x19200
/** End of the tables, below the end of the decoder's tables, which `scripts/embed-kernels.mjs` checks. */
export const zstdEncodeEnd: usize = 0x19400

/** Largest content of a block. */
export const BLOCK_BYTES: usize = 0x20000

/**
 * The work area in the arena: u32 addresses by hash; the literals of a block; its sequences. A sequence has
 * 16 bytes: u32 coded offset, u32 literals, u32 bytes of the match minus 3, u8 codes of these three.
 */
export const MOST_HASH_BITS: u32 = 14
export const HASH_BYTES: usize = 0x10000
export const LITERALS: usize = HASH_BYTES
export const SEQUENCES: usize = LITERALS + BLOCK_BYTES + 64
export const SEQUENCE_BYTES: usize = 16
/** Length of the shortest match. */
export const LEAST_MATCH: usize = 4
export const zstdWorkBytes: usize = SEQUENCES + (BLOCK_BYTES / LEAST_MATCH) * SEQUENCE_BYTES
