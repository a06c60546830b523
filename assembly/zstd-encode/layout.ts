/**
 * Where the tables are: in the memory of the kernels, where the decoder has its own (`zstd/layout.ts`), which
 * it makes anew for each frame, as this module does. The static data of this module lie behind them and below
 * the arena.
 */

export const zstdEncodeTables: usize = 0x15000
/** Four times 256 of u32: how often each byte occurs. */
export const BYTE_COUNTS: usize = 0x15000
/** By symbol, u32: bits of its Huffman code (8), the code (11). */
export const CODES: usize = 0x16000
/** 256 of u32: symbols by their counts, and a working space as large. */
export const ORDER: usize = 0x16400
export const TREE: usize = 0x16800
/** By symbol, u8: its weight, 0 for one that does not occur. */
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

/** 64 of i16: how many states each symbol of a table has, -1 for less than one. */
export const SHARES: usize = 0x19000
/** 64 of u16, or 16 of u32: where what is next of each symbol, or weight, goes. */
export const STARTS: usize = 0x19100
/** 512 of u8: the symbols of the states of a table. */
export const SPREAD: usize = 0x19200
/** Where all this ends, below the end of the decoder's tables: `scripts/embed-kernels.mjs` looks. */
export const zstdEncodeEnd: usize = 0x19400

/** What a block has of content at most. */
export const BLOCK_BYTES: usize = 0x20000

/**
 * The working space in the arena: u32 addresses by hash; the literals of a block; its sequences, 16 bytes
 * each: u32 offset as it is coded, u32 literals, u32 bytes of the match less 3, u8 codes of these three.
 */
export const MOST_HASH_BITS: u32 = 14
export const HASH_BYTES: usize = 0x10000
export const LITERALS: usize = HASH_BYTES
export const SEQUENCES: usize = LITERALS + BLOCK_BYTES + 64
export const SEQUENCE_BYTES: usize = 16
/** The shortest match. */
export const LEAST_MATCH: usize = 4
export const zstdWorkBytes: usize = SEQUENCES + (BLOCK_BYTES / LEAST_MATCH) * SEQUENCE_BYTES
