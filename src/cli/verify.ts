import type { Command } from 'commander'
import type { ZarrFinding } from '../adapters/zarr/verify.ts'
import { type Finding, type Verification, verify } from '../runtime/index.ts'
import { verifyZarr, type ZarrVerification } from '../runtime/zarr.ts'
import { EXIT, interruptible, oneLine } from './failure.ts'
import { formatAt } from './found.ts'
import { checkContainerOptions, checkStoreOptions } from './open-place.ts'
import { layerOption, namesOption, type PlaceOptions } from './options.ts'
import { count, jsonText, print, printLines, showBytes } from './output.ts'
import { progressLine } from './progress.ts'
import { CONTAINER, storeAt, zarrErrors } from './zarr-store.ts'

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
    .option('--json', 'as JSON, for programs')
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
  const format = await formatAt(path, signal)
  const isContainer = format === 'container'
  if (isContainer) checkContainerOptions(path, options)
  else checkStoreOptions(path, options)
  const { layer, names, deep = false, notFound } = options
  const line = progressLine('verifying', isContainer ? 'blocks' : 'chunks')
  const watched = { signal, onProgress: line.update }
  try {
    if (isContainer) {
      const result = await verify(path, {
        deep,
        ...watched,
        ...(notFound && { notFound }),
        ...(layer === undefined ? {} : { layer }),
      })
      return { result, lookedAt: containerLines(result, deep) }
    }
    const result = await zarrErrors(path, CONTAINER, async () =>
      verifyZarr(await storeAt(path, format, { ...options, signal }), { names, ...watched }),
    )
    return { result, lookedAt: storeLines(result) }
  } finally {
    line.end()
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

function containerLines({ checked }: Verification, deep: boolean): string[] {
  const unchecked = checked.blocksWithoutChecksum
  const statistics = `statistics of ${count(checked.arrayStatistics, 'array')} and ${count(checked.chunkStatistics, 'chunk')}`
  return [
    `  looked at ${count(checked.layers, 'file')}, ${count(checked.arrays, 'array')}, ${count(checked.chunks, 'chunk')} in ${count(checked.blocks, 'block')} (${showBytes(checked.bytes)})`,
    ...(unchecked > 0 ? [`  ${count(unchecked, 'block')} ${UNCHECKED}`] : []),
    deep ? `  compared ${statistics} with the elements` : '  statistics were not compared with the elements: --deep does',
  ]
}

function storeLines({ checked }: ZarrVerification): string[] {
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
