#!/usr/bin/env python3
"""How far framewire tensor lies from Pillow and from torchvision, over every file of some folders.

usage: tensor_accuracy.py PROGRAM FOLDER... [--size 224] [--seed 1] [--epochs 1] [--json FILE]

Each file gets random crops, the same for all; peers crop, then resize, from their own decode. Pillow
is the yardstick, since training recipes were tuned with it. Files that are damaged, or that Pillow
refuses, are counted and left out. Needs numpy and Pillow; torchvision if there is one.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
from PIL import Image

try:
    import torch
    import torchvision
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms.v2 import InterpolationMode
    from torchvision.transforms.v2 import functional as transforms
except ImportError:
    torchvision = None

PILLOW = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC,
          "lanczos3": Image.Resampling.LANCZOS}


def framewire(options, folder, seed, epoch, work, **more):
    out = pathlib.Path(work) / "batch.npy"
    command = [options.program, "tensor", folder, "--size", f"{options.size}x{options.size}",
               "--crop", "random", "--seed", str(seed), "--epoch", str(epoch), "--dtype", "uint8",
               "--layout", "NHWC", "--quiet", "--out", out]
    for name, value in more.items():
        command += [f"--{name}"] + ([] if value is True else [value])
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: some files are no pictures
        sys.exit(done.stderr)
    rows = [json.loads(line) for line in out.with_suffix(".jsonl").read_text().splitlines()]
    return numpy.load(out), rows


def pillow(path, crop, size, kernel):
    left, top, width, height = crop
    with Image.open(path) as image:
        part = image.convert("RGB").crop((left, top, left + width, top + height))
    return numpy.asarray(part.resize((size, size), PILLOW[kernel]))


def torch_float(path, crop, size, kernel, antialias):
    """Decoded by torchvision, resized as floats, clamped and rounded: its CUDA path's arithmetic."""
    left, top, width, height = crop
    data = torch.frombuffer(bytearray(pathlib.Path(path).read_bytes()), dtype=torch.uint8)
    image = decode_jpeg(data, mode=ImageReadMode.RGB)[:, top:top + height, left:left + width]
    mode = InterpolationMode.BILINEAR if kernel == "bilinear" else InterpolationMode.BICUBIC
    made = transforms.resize(image.float(), [size, size], mode, antialias=antialias)
    return made.clamp(0, 255).round().to(torch.uint8).permute(1, 2, 0).numpy()


class Distances:
    """Counts of absolute differences between samples."""

    def __init__(self):
        self.counts = numpy.zeros(256, dtype=numpy.int64)
        self.files = 0

    def add(self, a, b):
        difference = numpy.abs(a.astype(numpy.int16) - b.astype(numpy.int16))
        self.counts += numpy.bincount(difference.ravel(), minlength=256)
        self.files += 1

    def row(self):
        total, levels = self.counts.sum(), numpy.arange(256)
        share = numpy.cumsum(self.counts) / total
        error = (self.counts * levels ** 2).sum() / total
        return {"pictures": self.files, "largest": int(levels[self.counts > 0].max()),
                "p999": int(levels[numpy.searchsorted(share, 0.999)]),
                "mean": float((self.counts * levels).sum() / total),
                "psnr": float(10 * numpy.log10(255 ** 2 / error)) if error else float("inf")}


def compare(options, work):
    table, left_out = {}, set()

    def note(name, a, b):
        table.setdefault(name, Distances()).add(a, b)

    def each(rows):
        for row in rows:
            if not row["ok"] or row["warnings"]:
                left_out.add(row["input"])
            elif row["input"] not in left_out:
                yield row

    for folder in options.folder:
        for epoch in range(options.epochs):
            for kernel in PILLOW:
                exact, rows = framewire(options, folder, options.seed, epoch, work,
                                        interpolation=kernel)
                fast, _ = framewire(options, folder, options.seed, epoch, work,
                                    interpolation=kernel, fidelity="fast")
                for row in each(rows):
                    try:
                        judge = pillow(row["input"], row["crop"], options.size, kernel)
                    except (OSError, SyntaxError):
                        left_out.add(row["input"])
                        continue
                    note((kernel, "exact", "Pillow"), exact[row["row"]], judge)
                    note((kernel, "fast", "Pillow"), fast[row["row"]], judge)
                    if torchvision and kernel != "lanczos3":
                        peer = torch_float(row["input"], row["crop"], options.size, kernel, True)
                        note((kernel, "exact", "torchvision"), exact[row["row"]], peer)
                        note((kernel, "torchvision", "Pillow"), peer, judge)
            for kernel in ("bilinear", "bicubic") if torchvision else ():
                plain, rows = framewire(options, folder, options.seed, epoch, work,
                                        interpolation=kernel, **{"no-antialias": True})
                for row in each(rows):
                    peer = torch_float(row["input"], row["crop"], options.size, kernel, False)
                    note((f"{kernel}, not antialiased", "exact", "torchvision"),
                         plain[row["row"]], peer)
    return table, left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--json", help="write the figures there, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        table, left_out = compare(options, work)
    print(f"Pillow {Image.__version__}", end="")
    print(f", torchvision {torchvision.__version__}" if torchvision else ", no torchvision")
    print(f"{len(left_out)} files left out: damaged, or refused by one of them")
    print("| kernel | of | against | pictures | largest | 99.9 % | mean | PSNR, dB |")
    print("|---|---|---|---|---|---|---|---|")
    figures = []
    for (kernel, what, judge), distances in table.items():
        row = distances.row()
        figures.append({"kernel": kernel, "of": what, "against": judge, **row})
        print(f"| {kernel} | {what} | {judge} | {row['pictures']} | {row['largest']} | "
              f"{row['p999']} | {row['mean']:.3f} | {row['psnr']:.1f} |")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
