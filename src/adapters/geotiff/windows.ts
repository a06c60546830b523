/** First and last bytes of a file, which opening requests. Most COGs have all directories in the first. */
export const TIFF_WINDOWS = { start: 32 * 1024, tail: 0 }
