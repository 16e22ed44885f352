#!/usr/bin/env python3
"""dataloader.py FOLDER: batches of the folder's JPEGs from a PyTorch DataLoader.

Workers only read files; the main process decodes, on all cores, while they read the next ones. Each
image is cropped and flipped at random; a file that is no JPEG becomes zeros, and is left out.
"""

import pathlib
import sys

import framewire
import torch
from torch.utils.data import DataLoader, Dataset

SEED = 42
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Files(Dataset):
    """Bytes of files, and their numbers, which crops are drawn by."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return index, self.paths[index].read_bytes()


def batches(loader, decoder, epoch):
    """Yields (images, ids): a normalised tensor, and the numbers of its files."""
    for ids, jpegs in loader:
        sizes = framewire.sizes(jpegs, upright=decoder.exif, on_error="return")
        crops = framewire.random_resized_crops(sizes, SEED, epoch, ids)
        batch = decoder.decode(jpegs, crops, framewire.random_flips(SEED, epoch, ids))
        for error in filter(None, batch.errors):
            print(f"{loader.dataset.paths[ids[error.index]]}: {error}", file=sys.stderr)
        images, ids = torch.from_dlpack(batch.tensor), torch.tensor(ids)
        there = torch.tensor(batch.ok)
        yield (images, ids) if there.all() else (images[there], ids[there])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    paths = sorted(pathlib.Path(sys.argv[1]).rglob("*.jp*g"))
    if not paths:
        sys.exit(f"{sys.argv[1]}: no JPEGs")
    loader = DataLoader(
        Files(paths),
        batch_size=64,
        shuffle=True,
        num_workers=2,
        # (number, bytes) pairs as two lists: there is nothing to stack yet.
        collate_fn=lambda pairs: tuple(zip(*pairs)),
    )
    decoder = framewire.TensorDecoder(size=(224, 224), mean=MEAN, std=STD)
    for epoch in range(2):
        for images, ids in batches(loader, decoder, epoch):
            mean = images.mean().item() if len(images) else float("nan")
            print(f"epoch {epoch}: {tuple(images.shape)}, mean {mean:.3f}, file {ids[:1].tolist()}, …")


if __name__ == "__main__":
    main()
