/**
 * A compiled `WebAssembly.Module` on platforms that import WebAssembly as modules. On other platforms, use
 * the address or the bytes of the file.
 */
declare const kernels: object
export default kernels
