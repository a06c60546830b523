"""Rechunks `x` of a Zarr group to columns of 32 x 32 with Cubed: SOURCE TARGET MEMORY WORK."""

import sys

import cubed

source, target, memory, work = sys.argv[1:]
spec = cubed.Spec(work_dir=work, allowed_mem=int(memory), reserved_mem=100_000_000)
array = cubed.from_zarr(source, path="x", spec=spec)
cubed.to_zarr(array.rechunk((array.shape[0], 32, 32)), target, path="x")
