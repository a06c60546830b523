// Fails when a test was skipped: in CI everything a test needs is there. Ends with the counts, one line.
import { readFileSync } from 'node:fs'

const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const skipped = numPendingTests + numTodoTests
console.log(`${numPassedTests} passed, ${numFailedTests} failed, ${skipped} skipped`)
process.exitCode = numFailedTests > 0 || skipped > 0 || numPassedTests === 0 ? 1 : 0
