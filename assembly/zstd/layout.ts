/**
 * Where the tables are: below 64 KiB, behind the static data and before the first region of the arena, at
 * addresses that are part of the instructions. They last from one block of a frame to the next.
 *
 * A state of an FSE table is 8 bytes, all that a sequence needs of it:
 *
 *     u16 next state, 8 times | u8 bits that are added to the base | u8 bits that are added to the next state | u32 base
 *
 * Functions of this folder return an address, or a number that says what is wrong: none of these is as large
 * as an address.
 */
export const LITERAL_LENGTHS: usize = 0x2000 // 512 states
export const MATCH_LENGTHS: usize = 0x3000 // 512 states
export const OFFSETS: usize = 0x4000 // 256 states
export const WEIGHT_STATES: usize = 0x4800 // 64 states
export const WEIGHTS: usize = 0x4a00 // 256 of u8
/** By the next 11 bits: u8 bits of the code, u8 symbol. */
export const HUFFMAN: usize = 0x5000
export const COUNTS: usize = 0x6000 // 64 of i16
export const BASES: usize = 0x6100 // 64 of u32
export const NEXT_STATES: usize = 0x6200 // 64 of u16
export const FILLS: usize = 0x6300 // 16 of u32
export const REPEATED_OFFSETS: usize = 0x6400 // 3 of u32
/** For each of the three tables of sequences, u32 its accuracy. */
export const ACCURACIES: usize = 0x6410

/** The accuracy of a table that no block of the frame has brought yet. */
export const NONE: u32 = 255
/** The largest block decodes to 128 KiB. */
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
