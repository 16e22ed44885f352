#!/usr/bin/env python3
"""ray_thumbnails.py IN_DIR OUT_DIR: thumbnails of a folder's JPEGs, by Ray Data on many machines.

Each actor has one engine, which takes a batch at a time; what cannot be resized is a row with its
error, and the others go on. OUT_DIR becomes Parquet files with the columns path, jpeg and error.
"""

import os
import sys

import framewire
import ray


class Resize:
    """One engine an actor. With GPUs: concurrency=GPUS, num_gpus=1 below, and Engine("cuda")."""

    def __init__(self, threads):
        self.engine = framewire.Engine(threads=threads)

    def __call__(self, rows):
        jpegs = [bytes(data) for data in rows["bytes"]]
        results = list(self.engine.map(jpegs, size="256x256", resize="fill", on_error="return"))
        failed = [isinstance(result, framewire.Error) for result in results]
        return {
            "path": rows["path"],
            "jpeg": [None if bad else bytes(result.jpeg) for result, bad in zip(results, failed)],
            "error": [str(result) if bad else None for result, bad in zip(results, failed)],
        }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    cores = max(1, (os.cpu_count() or 1) // 2)  # the rest reads and writes
    files = ray.data.read_binary_files(sys.argv[1], include_paths=True)
    thumbnails = files.map_batches(Resize, fn_constructor_args=[cores], batch_size=256,
                                   concurrency=1, num_cpus=cores)
    thumbnails.write_parquet(sys.argv[2])


if __name__ == "__main__":
    main()
