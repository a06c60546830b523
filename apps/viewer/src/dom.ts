/** The element of the page that has this id. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element '${id}'`)
  return found as E
}

/** A new element. Text of files goes into it as text only, never as HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

/** Says next to what caused it that something went wrong; nothing is shown without an error. */
export function showError(id: string, error?: unknown): void {
  const place = byId(id)
  place.hidden = error === undefined
  place.textContent = error instanceof Error ? `${error.name}: ${error.message}` : String(error ?? '')
}

/** A colour of the style sheet, which depends on the theme. */
export const themeColour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** A canvas of `width` × `height` CSS pixels that has all pixels of the display. @returns the number of these in a CSS pixel */
export function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): number {
  const ratio = window.devicePixelRatio || 1
  canvas.width = Math.max(1, Math.round(width * ratio))
  canvas.height = Math.max(1, Math.round(height * ratio))
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  return ratio
}
