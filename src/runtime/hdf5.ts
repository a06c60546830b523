/**
 * Reads HDF5 files, such as NetCDF-4 and MATLAB 7.3 files, as lazy arrays.
 * @module hyperslab/hdf5
 */

export type { Hdf5Attribute, Hdf5Attributes } from '../adapters/hdf5/attributes.ts'
export type { Hdf5Array, Hdf5Group } from '../adapters/hdf5/group.ts'
export type { Hdf5Limits, OpenHdf5Options } from '../adapters/hdf5/open.ts'
export { type Hdf5Options, openHdf5 } from '../tree/open-hdf5.ts'
