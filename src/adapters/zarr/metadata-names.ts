/** Names of objects with metadata of a Zarr array or group. Those that tell which it is come first. */
export const METADATA = ['zarr.json', '.zgroup', '.zarray', '.zmetadata', '.zattrs']

/** The end of a path that names such an object, which stands for its folder. */
export const METADATA_PATH = /(^|\/)(zarr\.json|\.z(array|group|metadata|attrs))$/
