/** Names of objects with metadata of a Zarr array or group. */
export const METADATA = ['zarr.json', '.zgroup', '.zarray', '.zmetadata', '.zattrs']

/** The end of a path that names such an object, which stands for its folder. */
export const METADATA_PATH = /(^|\/)(zarr\.json|\.z(array|group|metadata|attrs))$/
