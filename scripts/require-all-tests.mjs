// Fails if a test was skipped, because CI provides everything that tests need. Prints the counts in one line
// at the end.
import { readFileSync } from 'node:fs'

const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const skipped = numPendingTests + numTodoTests
console.log(`${numPassedTests} passed, ${numFailedTests} failed, ${skipped} skipped`)
process.exitCode = numFailedTests > 0 || skipped > 0 || numPassedTests === 0 ? 1 : 0
