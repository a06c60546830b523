/** Returns the element of the page with an id. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element '${id}'`)
  return found as E
}

/** Creates an element. Text of files enters it as text, never as HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

/** Shows an error beside its cause; hides the message without an error. */
export function showError(id: string, error?: unknown): void {
  const place = byId(id)
  place.hidden = error === undefined
  place.textContent = error instanceof Error ? `${error.name}: ${error.message}` : String(error ?? '')
}

/** Returns a colour of the style sheet, which depends on the theme. */
export const themeColour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/**
 * Resizes a canvas to `width` × `height` CSS pixels at the resolution of the display.
 * @returns number of display pixels in a CSS pixel
 */
export function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): number {
  const ratio = window.devicePixelRatio || 1
  canvas.width = Math.max(1, Math.round(width * ratio))
  canvas.height = Math.max(1, Math.round(height * ratio))
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  return ratio
}
