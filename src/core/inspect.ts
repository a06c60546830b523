/** What prints itself by its `toString`, in `console.log`, too. */
export abstract class Printable {
  abstract toString(): string

  /** @internal What Node and Bun print. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString()
  }

  /** @internal What Deno prints. */
  [Symbol.for('Deno.customInspect')](): string {
    return this.toString()
  }
}

/** `1 layer`, `2 layers`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
