/**
 * Returns an object with some members replaced. All others are those of the original, also members that are
 * added to its type later, so no wrapper can forget one. Methods run on the original.
 * @param replace returns the member of this name, given that of the original
 */
export const overlay = <T extends object>(original: T, replace: (name: string, value: unknown) => unknown): T =>
  new Proxy(original, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown
      const replaced = replace(String(name), value)
      return replaced === value && typeof value === 'function' ? value.bind(target) : replaced
    },
  })

/** Returns an object with these members instead of its own. */
export const withMembers = <T extends object>(original: T, members: { readonly [K in keyof T]?: T[K] | undefined }): T =>
  overlay(original, (name, value) => (Object.hasOwn(members, name) ? (members as Record<string, unknown>)[name] : value))
