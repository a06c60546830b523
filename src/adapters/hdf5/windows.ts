/** First and last bytes of a file, which opening requests at the same time. */
export const HDF5_WINDOWS = { start: 128 * 1024, tail: 64 * 1024 }
