import { type Command, Option } from 'commander'
import type { ReduceOptions } from '../array/reductions/reduce.ts'
import { type DType, isBigInt } from '../core/dtype.ts'
import { copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { rangeLength } from '../grid/range.ts'
import { DiskArray } from '../runtime/index.ts'
import { readExcerpt } from './excerpt.ts'
import { checkFormat, type Format, printResult, type Result } from './format.ts'
import { formatOption } from './get.ts'
import { openPlace } from './open-place.ts'
import { addPlaceOptions, PLACE, type PlaceOptions } from './options.ts'
import { physical, type RawOption, rawOption } from './physical.ts'
import { parseAxes } from './selection.ts'

const OPS = ['sum', 'min', 'max', 'mean'] as const
type Op = (typeof OPS)[number]

interface Options extends PlaceOptions, RawOption {
  readonly op: Op
  readonly axis?: string
  readonly keepMissing?: boolean
  readonly format: Format
  readonly full?: boolean
}

export function addReduce(program: Command): void {
  const command = program
    .command('reduce')
    .description('sum, minimum, maximum or mean of an array, of everything or along axes')
    .argument('<file>', PLACE)
    .argument('<array>', 'name of an array; in a Zarr store its path')
    .addOption(new Option('--op <op>', 'what to compute').choices(OPS).makeOptionMandatory())
    .option('--axis <axes>', 'axes to reduce, names or numbers, e.g. lat,lon or 0,-1 (default: all)')
    .option(
      '--keep-missing',
      'take elements that are missing, which are left out otherwise, for values; those of packed arrays stand for none and make the result NaN, without --raw',
    )
    .addOption(formatOption())
    .option('--full', 'print everything as text, also of more than 1000 elements')
    .addOption(rawOption())
  addPlaceOptions(command)
    .addHelpText('after', '\nExample: the mean of each month\n  $ hyperslab reduce climate.af tas --op mean --axis lat,lon')
    .action(
      async (
        path: string,
        name: string,
        { op, axis, keepMissing = false, format, full = false, raw = false, ...state }: Options,
      ) => {
        const axes = axis === undefined ? undefined : parseAxes(axis)
        await using place = await openPlace(path, state)
        const { array } = await place.array(name)
        const result = await reduceArray(physical(array, { raw }).reducible(), op, {
          skipMissing: !keepMissing,
          ...(axes && { axis: axes }),
        })
        checkFormat(format, result.dtype)
        await printResult(format, format === 'text' && !full ? await readExcerpt(arrayOf(result), null) : result)
      },
    )
}

export async function reduceArray(array: DiskArray, op: Op, options: ReduceOptions): Promise<Result> {
  const dtype = resultType(array.dtype, op)
  const reduced: unknown = await array[op](options)
  if (typeof reduced === 'object' && reduced !== null && 'data' in reduced) return { dtype, tensor: reduced as Tensor }
  const tensor = tensorOf(dtype, [])
  tensor.data[0] = (dtype === 'bool' ? Number(reduced) : reduced) as never
  return { dtype, tensor }
}

function resultType(dtype: DType, op: Op): DType {
  if (op === 'min' || op === 'max') return dtype
  return op === 'sum' && isBigInt(dtype) ? dtype : 'float64'
}

/** A result as an array, of which parts can be read. */
const arrayOf = ({ dtype, tensor }: Result): DiskArray =>
  new DiskArray({
    dtype,
    shape: tensor.shape,
    readBlock: (box, out) => {
      const part = box.map((range) => ({ start: range.start, step: range.step, length: rangeLength(range) }))
      copyTensor(viewTensor(tensor, part), out)
    },
  })
