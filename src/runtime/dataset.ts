/**
 * Labelled data: datasets of arrays with named dimensions, coordinates and attributes, by the CF conventions.
 * @module hyperslab/dataset
 */

export type { ArithmeticOptions } from '../dataset/arithmetic.ts'
export type { Attrs } from '../dataset/attributes.ts'
export { type Between, between, type LabelLike } from '../dataset/between.ts'
export type { VariableEncoding } from '../dataset/cf/encode.ts'
export { concatDatasets } from '../dataset/concat-datasets.ts'
export type { ConcatDatasetsOptions } from '../dataset/concat-options.ts'
export { cos, DataArray, type GroupedArrays, type ReducedArrays } from '../dataset/data-array.ts'
export {
  Dataset,
  type DatasetOptions,
  type UnknownTypes,
  type VariableData,
  type VariableInput,
  type VariableTypes,
} from '../dataset/dataset.ts'
export type { DatasetFile, DatasetLimits, DecodeOptions } from '../dataset/dataset-file.ts'
export type { DiffOptions, ShiftOptions } from '../dataset/dims.ts'
export type { Replacement } from '../dataset/elements.ts'
export type { OneDimOptions } from '../dataset/extremes.ts'
export type { GroupBy, GroupKey, MinPeriodsOption } from '../dataset/group-by.ts'
export type { GroupedReductions } from '../dataset/grouped-reductions.ts'
export type { InterpLabels, InterpOptions } from '../dataset/interp.ts'
export type { LabelSelector, SelOptions } from '../dataset/label-selectors.ts'
export { type OpenDatasetOptions, openDataset } from '../dataset/open/open-dataset.ts'
export { openDatasets } from '../dataset/open/open-datasets.ts'
export type { OpenDatasetsOptions } from '../dataset/open/open-joined.ts'
export type { ArrowRecordBatch } from '../dataset/out/arrow.ts'
export type { TableOptions } from '../dataset/out/csv.ts'
export type { WriteDatasetOptions, WriteResult } from '../dataset/out/write.ts'
export type { LabelledPoints, PointIndices, PointLabels, PointsOptions, SelPointsOptions } from '../dataset/points.ts'
export type { ReadKind, UnknownValues } from '../dataset/reduced-types.ts'
export type { Reducible } from '../dataset/reducible.ts'
export type { DescribeValuesOptions, KeepDimsOptions, ReduceDimsOptions, ValuesDescription } from '../dataset/reductions.ts'
export type { ResampleOptions } from '../dataset/resample.ts'
export type { SortOptions } from '../dataset/sort-by.ts'
export { CFTime } from '../dataset/time/instant.ts'
export type { Weighted } from '../dataset/weighted.ts'
export type { CoarsenOptions, RollingOptions, WindowedArray } from '../dataset/windows.ts'
export type { Location } from '../tree/location.ts'
