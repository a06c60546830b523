/** Base of classes that print their `toString`, in `console.log`, too. */
export abstract class Printable {
  /** Describes the object as text, without reading data. */
  abstract toString(): string

  /** @internal Printed by Node and Bun. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString()
  }

  /** @internal Printed by Deno. */
  [Symbol.for('Deno.customInspect')](): string {
    return this.toString()
  }
}

/** Formats a count with its noun: `1 layer`, `2 layers`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
