import type { Command } from 'commander'
import type { Finding, Verification } from '../../runtime/index.ts'
import { findTree } from '../../runtime/tree.ts'
import type { ZarrFinding, ZarrVerification } from '../../runtime/zarr.ts'
import { EXIT, interruptible, oneLine } from '../show/failure.ts'
import { progressLine } from '../show/progress.ts'
import { count, jsonText, print, printLines, showBytes } from '../show/text.ts'
import { layerOption, namesOption, notFoundAt, type PlaceOptions } from './options.ts'
import { checkPlaceOptions, importFirst } from './place.ts'

interface Options extends Omit<PlaceOptions, 'group'> {
  readonly deep?: boolean
  readonly json?: boolean
}

/** Result of a check, with lines about its extent. */
interface Verified {
  readonly result: Verification | ZarrVerification
  readonly lookedAt: readonly string[]
}

export function addVerify(program: Command): void {
  const command = program
    .command('verify')
    .description('check a container or a Zarr store for damage')
    .argument('<file>', 'a container (.af), or a Zarr store: its folder, URL, zip archive or kerchunk references')
    .option('--deep', 'for a container: also compare all stored statistics with the elements')
  command
    .addOption(layerOption())
    .addOption(namesOption())
    .addHelpText('after', '\nExit code 1 when something is wrong.\n\nExample:\n  $ hyperslab verify climate.af --deep')
    .action(async (path: string, { json = false, ...options }: Options) => {
      const { result, lookedAt } = await interruptible((signal) => verifyPlace(path, options, signal))
      if (json) await print([jsonText(result)])
      else await printLines([...findingLines(path, result), ...lookedAt])
      if (!result.ok) process.exitCode = EXIT.failed
    })
}

async function verifyPlace(path: string, options: Options, signal: AbortSignal): Promise<Verified> {
  const found = await findTree(path, { signal, ...notFoundAt(path, options) })
  await found.settleFormat(signal)
  await checkPlaceOptions(found, path, options)
  const { place, format } = found
  const { layer, names, deep = false, notFound } = options
  const { verification } = format
  if (verification === undefined) throw importFirst(found, path, 'which has no checksums that could be verified')
  const line = progressLine('verifying', verification.unit)
  try {
    const asked = { deep, layer, names, notFound, signal, onProgress: line.update }
    const result = await verification.verify(place, asked)
    const lookedAt = 'blocks' in result.checked ? containerLines(result.checked, deep) : storeLines(result.checked)
    return { result, lookedAt }
  } catch (error) {
    throw await found.reasonOf(error)
  } finally {
    line.end()
    await found.close()
  }
}

function findingLines(path: string, { findings, omitted }: Verified['result']): string[] {
  const all: readonly (Finding | ZarrFinding)[] = findings
  const number = (severity: Finding['severity']): number => all.filter((finding) => finding.severity === severity).length
  const found = [count(number('error'), 'error'), count(number('warning'), 'warning')].join(', ')
  return [
    ...all.map((finding) => oneLine(showFinding(finding))),
    ...(omitted > 0 ? [`... and ${omitted} more`] : []),
    oneLine(`${path}: ${all.length === 0 ? 'nothing is wrong' : found}`),
  ]
}

const UNCHECKED = 'without a checksum: changed bytes show there only where they do not decode'

function containerLines(checked: Verification['checked'], deep: boolean): string[] {
  const unchecked = checked.blocksWithoutChecksum
  const statistics = `statistics of ${count(checked.arrayStatistics, 'array')} and ${count(checked.chunkStatistics, 'chunk')}`
  return [
    `  looked at ${count(checked.layers, 'file')}, ${count(checked.arrays, 'array')}, ${count(checked.chunks, 'chunk')} in ${count(checked.blocks, 'block')} (${showBytes(checked.bytes)})`,
    ...(unchecked > 0 ? [`  ${count(unchecked, 'block')} ${UNCHECKED}`] : []),
    deep ? `  compared ${statistics} with the elements` : '  statistics were not compared with the elements: --deep does',
  ]
}

function storeLines(checked: ZarrVerification['checked']): string[] {
  const { groups, arrays, chunks, missingChunks, chunksWithoutChecksum: unchecked, bytes } = checked
  return [
    `  looked at ${count(groups, 'group')}, ${count(arrays, 'array')}, ${count(chunks, 'chunk')} (${showBytes(bytes)})`,
    ...(missingChunks > 0 ? [`  ${count(missingChunks, 'chunk')} not stored (all fill values)`] : []),
    ...(unchecked > 0 ? [`  ${count(unchecked, 'chunk')} ${UNCHECKED}`] : []),
  ]
}

function showFinding({ severity, file, array, text, ...place }: Finding | ZarrFinding): string {
  const block = 'block' in place && place.block !== undefined ? `block ${place.block}` : ''
  const chunk = 'chunk' in place && place.chunk !== undefined ? `chunk [${place.chunk.join(', ')}]` : ''
  return [severity, file, block, array === undefined ? '' : `array '${array}'`, chunk, text]
    .filter((part) => part !== '')
    .join(': ')
}
