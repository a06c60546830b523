import { byId } from './dom.ts'

/**
 * Binds the theme button. The theme is that of the system until the user chooses one.
 * @param onChange redraws everything with colours of the style sheet
 */
export function bindTheme(onChange: () => void): void {
  const button = byId<HTMLButtonElement>('theme')
  const wished = matchMedia('(prefers-color-scheme: dark)')
  let own: boolean | undefined
  const apply = (): void => {
    const isDark = own ?? wished.matches
    document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
    button.textContent = isDark ? 'Light' : 'Dark'
    onChange()
  }
  button.onclick = () => {
    own = !(own ?? wished.matches)
    apply()
  }
  wished.addEventListener('change', apply)
  apply()
}
