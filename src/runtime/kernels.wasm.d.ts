/**
 * A compiled `WebAssembly.Module`, where the platform imports WebAssembly as modules; elsewhere take the
 * file's address or bytes.
 */
declare const kernels: object
export default kernels
