/** Names of the methods of a class and of those it extends, accessors left out. */
export function methodsOf(object: object, end: object = Object.prototype): string[] {
  const prototype = Object.getPrototypeOf(object)
  if (prototype === end) return []
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype))
  return [
    ...own.filter(([name, { value }]) => typeof value === 'function' && name !== 'constructor').map(([name]) => name),
    ...methodsOf(prototype, end),
  ]
}
