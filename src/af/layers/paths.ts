import { HyperslabError } from '../../core/errors.ts'
import { checkValue } from '../../core/options.ts'

const EXTENSION = '.af'
/**
 * Names of sidecars: `name.7.af` belongs to `name.af`. Numbers are decimal, without leading zeros or signs.
 */
export const SIDECAR = /\.([1-9]\d*)\.af$/

/** Names of the files of one container: `{stem}.af`, `{stem}.1.af`, …, `{stem}.stats`. */
export class Paths {
  readonly base: string
  readonly stats: string
  /** The base without the end of its name. */
  readonly stem: string

  /** @throws InvalidArgumentError unless the name ends in `.af` */
  constructor(base: string) {
    checkValue('open', 'path', base, 'string')
    if (!base.endsWith(EXTENSION) || base.length === EXTENSION.length) {
      throw new HyperslabError('InvalidArgumentError', "the name of a container must end in '.af'", { file: base, actual: base })
    }
    this.base = base
    this.stem = base.slice(0, -EXTENSION.length)
    this.stats = `${this.stem}.stats`
  }

  sidecar(number: number): string {
    return `${this.stem}.${number}${EXTENSION}`
  }

  /** Whether a key is that of a sidecar of the container, or of its statistics. */
  isBeside(key: string): boolean {
    return key === this.stats || (SIDECAR.test(key) && key.replace(SIDECAR, '') === this.stem)
  }
}
