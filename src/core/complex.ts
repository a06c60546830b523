/** Name of the axis of length 2 with the real part at 0 and the imaginary part at 1. */
export const COMPLEX_AXIS = 'complex'

/**
 * Returns the names of the axes within elements of several values; '' for axes without a name.
 * @param isComplex whether the last axis has the parts of complex numbers
 */
export const innerAxisNames = (shape: readonly number[], isComplex: boolean): string[] =>
  shape.map((_, axis) => (isComplex && axis === shape.length - 1 ? COMPLEX_AXIS : ''))
