/**
 * The ABI of the Zstandard module. Pointers are byte addresses; each file states the contract of what it
 * exports.
 */
export { arenaAlloc, arenaMark, arenaReset } from '../arena'
export { zstdDecode } from './frame'
