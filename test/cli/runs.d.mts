import type { Command } from 'commander'

export interface Run {
  readonly command: string
  readonly args: readonly string[]
  readonly prints?: RegExp
  readonly fails?: RegExp
  readonly exitCode?: number
  readonly kind?: 'served' | 'text'
}

export const RUNS: readonly Run[]
export const JOB: readonly string[]
export function keysOf(program: Command): string[]
