import type { Command } from 'commander'
import { type Finding, type Verification, verify } from '../runtime/index.ts'
import { EXIT, interruptible, oneLine } from './failure.ts'
import { layerOption, type PlaceOptions } from './options.ts'
import { count, print, printLines, showBytes } from './output.ts'
import { progressLine } from './progress.ts'

interface Options extends PlaceOptions {
  readonly deep?: boolean
  readonly json?: boolean
}

export function addVerify(program: Command): void {
  program
    .command('verify')
    .description('look through a container for damage')
    .argument('<file>', 'a container (.af)')
    .option('--deep', 'compare all stored statistics with the elements, too')
    .option('--json', 'as JSON, for programs')
    .addOption(layerOption())
    .addHelpText('after', '\nExit code 1 when something is wrong.\n\nExample:\n  $ hyperslab verify climate.af --deep')
    .action(async (path: string, { deep = false, json = false, layer }: Options) => {
      const line = progressLine('verifying', 'blocks')
      const result = await interruptible((signal) =>
        verify(path, { deep, signal, onProgress: line.update, ...(layer === undefined ? {} : { layer }) }),
      ).finally(line.end)
      if (json) await print([`${JSON.stringify(result, null, 2)}\n`])
      else await printLines(verifyLines(path, result, deep))
      if (!result.ok) process.exitCode = EXIT.failed
    })
}

export function verifyLines(path: string, { findings, omitted, checked }: Verification, deep: boolean): string[] {
  const number = (severity: Finding['severity']): number => findings.filter((finding) => finding.severity === severity).length
  const found = [count(number('error'), 'error'), count(number('warning'), 'warning')].join(', ')
  const unchecked = checked.blocksWithoutChecksum
  const statistics = `statistics of ${count(checked.arrayStatistics, 'array')} and ${count(checked.chunkStatistics, 'chunk')}`
  return [
    ...findings.map((finding) => oneLine(showFinding(finding))),
    ...(omitted > 0 ? [`... and ${omitted} more`] : []),
    oneLine(`${path}: ${findings.length === 0 ? 'nothing is wrong' : found}`),
    `  looked at ${count(checked.layers, 'file')}, ${count(checked.arrays, 'array')}, ${count(checked.chunks, 'chunk')} in ${count(checked.blocks, 'block')} (${showBytes(checked.bytes)})`,
    ...(unchecked > 0
      ? [`  ${count(unchecked, 'block')} without a checksum: changed bytes show there only where they do not decode`]
      : []),
    deep ? `  compared ${statistics} with the elements` : '  statistics were not compared with the elements: --deep does',
  ]
}

const showFinding = ({ severity, file, block, array, text }: Finding): string =>
  [severity, file, block === undefined ? '' : `block ${block}`, array === undefined ? '' : `array '${array}'`, text]
    .filter((part) => part !== '')
    .join(': ')
