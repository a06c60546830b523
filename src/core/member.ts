/** A member that an object has of its own: `constructor` and what else every object has does not count. */
export const member = <T>(object: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined
