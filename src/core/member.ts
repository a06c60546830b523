/** Returns a member of an object. Inherited members, such as `constructor`, do not count. */
export const member = <T>(object: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined
