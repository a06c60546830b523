import { HyperslabError } from '../../core/errors.ts'
import type { OmittedGroups } from '../coords.ts'

const SHOWN_GROUPS = 5

/** Parts of a dataset that know of groups. */
interface MayHaveGroups {
  readonly groupsLeft?: (() => Promise<OmittedGroups>) | undefined
}

/**
 * Refuses to copy a place without its groups, of which the dataset has none.
 * @throws UnsupportedError, which names the groups
 */
export async function checkNoGroupsLeft({ groupsLeft }: MayHaveGroups): Promise<void> {
  const left = await groupsLeft?.()
  if (left === undefined || left.names.length === 0) return
  const { file, names } = left
  const shown = names.slice(0, SHOWN_GROUPS).map((name) => `'${name}'`).join(', ') // biome-ignore format: one line
  const more = names.length > SHOWN_GROUPS ? ` and ${names.length - SHOWN_GROUPS} more` : ''
  const text = `there are groups that this copy would leave out: ${shown}${more}; open one of them by \`group\`, or '/', which is the root alone; import copies all groups into a container`
  throw new HyperslabError('UnsupportedError', text, { file, actual: names })
}
