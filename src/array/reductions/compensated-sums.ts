/**
 * Sums of cells by Neumaier's summation: the rounding error of each addition is kept separately and added at
 * the end.
 */
export class CompensatedSums {
  readonly sums: Float64Array
  readonly rests: Float64Array

  constructor(cells: number) {
    this.sums = new Float64Array(cells)
    this.rests = new Float64Array(cells)
  }

  add(cell: number, x: number): void {
    const { sums, rests } = this
    const sum = sums[cell]!
    const next = sum + x
    const added = next - sum
    sums[cell] = next
    rests[cell]! += sum - (next - added) + (x - added)
  }

  /** Returns the sum of a cell. */
  get(cell: number): number {
    const sum = this.sums[cell]!
    // The compensation term of an infinite sum is NaN.
    return Number.isFinite(sum) ? sum + this.rests[cell]! : sum
  }
}
