import type { Plugin } from 'rollup'

export function keepParameters(): Plugin
