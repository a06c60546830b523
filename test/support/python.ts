import { fileURLToPath } from 'node:url'
import { type Python, pythonEnvironment, startScript } from '../../scripts/python.mjs'

/** Packages that tests compare with, in one environment. */
const PACKAGES = [
  'numpy==2.4.6',
  'zarr==3.1.6',
  'numcodecs==0.16.6',
  'google-crc32c==1.9.0',
  'xarray==2026.9.0',
  'tensorstore==0.1.86',
  'pandas==3.1.1',
  'cftime==1.6.6.1',
  'scipy==1.17.1',
  'fsspec==2026.9.0',
  'aiohttp==3.14.5',
]

/** The environment of Python with zarr-python, tensorstore and what comes with them; see `pythonWith`. */
export const zarrPython = (): NodeJS.ProcessEnv | undefined => pythonWith(PACKAGES)

/**
 * The environment of Python with some packages. Undefined where it cannot be had: with CI=true that is an
 * error, so that its tests are never left out there.
 */
export function pythonWith(packages: readonly string[]): NodeJS.ProcessEnv | undefined {
  const { env, failure } = pythonEnvironment(packages)
  if (failure === undefined) return env
  const text = `tests need Python with ${packages.join(', ')}: ${failure}`
  if (process.env['CI'] === 'true') throw new Error(text)
  console.warn(`SKIPPED: ${text}`)
  return undefined
}

/** Starts a script beside this file; undefined where there is no environment for it. */
export function startPython(script: string): Python | undefined {
  const env = zarrPython()
  return env && startScript(fileURLToPath(new URL(script, import.meta.url)), env)
}
