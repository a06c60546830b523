import type { TypedAttribute } from '../af/layers/attributes.ts'

/** A new value of an attribute: one with a type, or the text of a JSON value. */
export type NewAttribute = TypedAttribute | { readonly type: 'json'; readonly value: string }

/** Types of attributes that a format stores. */
export interface AttributeTypes {
  /** Names of the types. */
  readonly names: readonly string[]
  /** The format in messages. */
  readonly plural: string
  /** Types in words, for messages. */
  readonly words: string
}

/** Attributes of an array, or of a place or group itself, that are changed together. */
export interface AttributeEditor extends AsyncDisposable {
  /** Returns the names of the attributes. */
  names(): string[]
  /** Returns the type of an attribute: that of its format, or `json`; undefined if there is none. */
  typeOf(name: string): string | undefined
  /** Sets an attribute when the changes are saved. */
  set(name: string, attribute: NewAttribute): void
  /** Removes an attribute when the changes are saved. */
  delete(name: string): void
  /** Saves the changes. */
  save(): Promise<void>
}

/** Options of changing attributes of a place. */
export interface EditAttributesOptions {
  /** Path of an array; undefined for the place or the group itself. */
  readonly array?: string | undefined
  /** Path of a group of a Zarr store, to which the path of the array is relative. */
  readonly group?: string | undefined
  /** Paths of arrays and groups of a Zarr store that cannot be listed. */
  readonly names?: readonly string[] | undefined
}
