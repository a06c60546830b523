/** A process in Python that answers requests, each a line of JSON, in their order. */
export interface Python {
  // biome-ignore lint/suspicious/noExplicitAny: each script has answers of its own.
  ask(request: object): Promise<any>
  close(): void
}

export function pythonEnvironment(
  packages: readonly string[],
): { readonly env: NodeJS.ProcessEnv; readonly failure?: undefined } | { readonly env?: undefined; readonly failure: string }

export function startScript(path: string, env: NodeJS.ProcessEnv, args?: readonly string[]): Python
