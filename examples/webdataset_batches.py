#!/usr/bin/env python3
"""webdataset_batches.py SHARDS: training batches from tar shards, read by WebDataset.

SHARDS is a file or a pattern such as 'train-{000000..000099}.tar', of members NAME.jpg and NAME.cls.
WebDataset reads and shuffles; the batch is decoded by one call, on all cores.
"""

import hashlib
import sys

import framewire
import numpy as np
import webdataset as wds

SEED, SIZE = 42, (224, 224)


def sample_id(key):
    """The same number for the same sample in every run: crops and flips are drawn by it."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")


def batches(shards, decoder, epoch, batch_size=64):
    """Yields (images, classes): an array of (N, 3, height, width), and N numbers."""
    samples = wds.WebDataset(shards, shardshuffle=False).shuffle(1000).to_tuple("__key__", "jpg;jpeg", "cls")
    for keys, jpegs, classes in samples.batched(batch_size, collation_fn=lambda rows: tuple(zip(*rows))):
        ids = [sample_id(key) for key in keys]
        sizes = framewire.sizes(jpegs, upright=decoder.exif, on_error="return")
        crops = framewire.random_resized_crops(sizes, SEED, epoch, ids)
        batch = decoder.decode(jpegs, crops, framewire.random_flips(SEED, epoch, ids))
        for error in filter(None, batch.errors):
            print(f"{keys[error.index]}: {error}", file=sys.stderr)
        there = np.asarray(batch.ok)
        yield batch.tensor.numpy()[there], np.array([int(text) for text in classes])[there]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    decoder = framewire.TensorDecoder(size=SIZE, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
    for images, classes in batches(sys.argv[1], decoder, epoch=0):
        print(f"{images.shape}, mean {images.mean():.3f}, classes {classes[:4].tolist()}, …")


if __name__ == "__main__":
    main()
