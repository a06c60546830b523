// The least a user can want; the harness weighs it.
import { slice } from 'hyperslab'

console.log(slice(1, 2))
