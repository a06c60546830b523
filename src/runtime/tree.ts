/**
 * Files and stores of any format as trees: found, described, compared, and selected from in words.
 * @module hyperslab/tree
 */

export { type Excerpt, readExcerpt, type SliceSelection } from '../array/excerpt.ts'
export type { ArrayNode, GroupNode, NodeLevel, NodePyramid, NodeStatistics, StorageInfo } from '../array/nodes.ts'
export { type CopiedTree, type CopyTreeOptions, type CopyTreeProgress, copyTree } from '../copy/copy-tree.ts'
export { type MemoryShares, shareMemory } from '../copy/memory-bound.ts'
export { type NewFileOptions, writeNewFile } from '../copy/new-file.ts'
export { plainAttrs } from '../dataset/attributes.ts'
export { type ImportPlaceOptions, importPlace, type PlaceImportResult } from '../dataset/import/import-place.ts'
export type { Taken } from '../dataset/label-selectors.ts'
export { type RechunkedTree, type RechunkTreeOptions, rechunkTree } from '../dataset/out/rechunk-tree.ts'
export { type PreferredCoordinates, positionText, runsUpwards } from '../dataset/tree/coordinates.ts'
export type {
  ArrayDescription,
  DescribedAttribute,
  DescribedAttributes,
  DescribedStatistics,
  GroupDescription,
  PyramidDescription,
  TreeDescription,
} from '../dataset/tree/description.ts'
export {
  type DifferentElement,
  type DifferentValues,
  type DiffTreesOptions,
  diffTrees,
  type TreeDifference,
} from '../dataset/tree/diff.ts'
export { type ElementFormat, elementFormat } from '../dataset/tree/element-format.ts'
export { isWrongWords, type SelectedPart, type SelectInWordsOptions, selectInWords } from '../dataset/tree/label-words.ts'
export {
  type CoordinatesOptions,
  type DescribeTreeOptions,
  LabelledTree,
  type TreeArrayOptions,
  type TreeContents,
} from '../dataset/tree/labelled-tree.ts'
export {
  type Counts,
  countWith,
  type MethodCall,
  type Perform,
  type ReduceWithKind,
  type ReduceWithOptions,
  reduceWith,
  reductionCall,
} from '../dataset/tree/reduce-with.ts'
export { type ListedReferences, type ListReferencesOptions, listReferences } from '../dataset/tree/references.ts'
export { listDimensions, type TreeArray, textAttribute } from '../dataset/tree/tree-array.ts'
export type { AttributeEditor, AttributeTypes, EditAttributesOptions, NewAttribute } from '../tree/attribute-editor.ts'
export type { Format, FormatWriting } from '../tree/formats.ts'
export { type FindTreeOptions, type FoundTree, findTree } from '../tree/open-tree.ts'
export type { ServedFiles } from '../tree/served-files.ts'
export { formatToWrite, type WrittenFormat } from '../tree/written-formats.ts'
