#!/usr/bin/env python3
"""How fast framewire tensor --device, torchvision on a GPU, and Pillow make training batches.

usage: gpu_tensor_peers.py PROGRAM FOLDER [--batch 256] [--rounds 3] [--seconds 2]

All get FOLDER's files in memory and the same random crops, and make 224x224, half precision, normalised,
NCHW, on the device. Rounds alternate between peers; figures are images per second of wall time: the
median, and the range. The differences are those from Pillow's decode, crop and resize, in levels of 255.
"""

import argparse
import io
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import torch
import torchvision
from PIL import Image
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms.v2 import functional as transforms

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIDE = 224


def run_framewire(program, folder, *more):
    command = [program, "tensor", folder, "--size", f"{SIDE}x{SIDE}", "--crop", "random", "--dtype",
               "float16", "--mean", ",".join(map(str, MEAN)), "--std", ",".join(map(str, STD)),
               "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def on_device(files, crops, batch):
    """Decode, crop, resize and normalise; one by one, since sizes differ."""
    images = decode_jpeg(files, mode=ImageReadMode.RGB, device="cuda")
    for i, (image, (left, top, width, height)) in enumerate(zip(images, crops)):
        part = transforms.resized_crop(image, top, left, height, width, [SIDE, SIDE], antialias=True)
        batch[i] = transforms.normalize(transforms.to_dtype(part, torch.float16, scale=True), MEAN, STD)


def decode_only(files, _crops, _batch):
    decode_jpeg(files, mode=ImageReadMode.RGB, device="cuda")


def rate(make, files, crops, batch, size, seconds):
    made, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for i in range(0, len(files), size):
            make(files[i:i + size], crops[i:i + size], batch)
            torch.cuda.synchronize()
            made += len(files[i:i + size])
    return made / (time.perf_counter() - start)


def pillow(data, crop):
    left, top, width, height = crop
    image = Image.open(io.BytesIO(data)).convert("RGB").crop((left, top, left + width, top + height))
    return numpy.asarray(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=numpy.float32)


def levels(batch):
    """Samples of a normalised batch, as numbers between 0 and 255."""
    mean = numpy.array(MEAN, numpy.float32)[:, None, None]
    std = numpy.array(STD, numpy.float32)[:, None, None]
    return ((numpy.asarray(batch, numpy.float32) * std + mean) * 255).transpose(0, 2, 3, 1)


def compare(name, found, wanted):
    off = numpy.abs(found - wanted)
    print(f"{name}: from Pillow at most {off.max():.2f}, 99.9 % {numpy.quantile(off, 0.999):.2f}, "
          f"mean {off.mean():.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    print(torch.cuda.get_device_name(0), "torch", torch.__version__, "torchvision", torchvision.__version__)
    with tempfile.TemporaryDirectory() as work:
        parts = {}
        for name, more in (("exact", ()), ("fast", ("--fidelity", "fast"))):
            out = pathlib.Path(work) / f"{name}.npy"
            run_framewire(options.program, options.folder, "--device", "0", "--out", str(out), *more)
            parts[name] = numpy.load(out)
        rows = [json.loads(line) for line in out.with_suffix(".jsonl").read_text().splitlines()]
    data = [pathlib.Path(row["input"]).read_bytes() for row in rows]
    crops = [row["crop"] for row in rows]
    wanted = numpy.stack([pillow(d, c) for d, c in zip(data, crops)])
    compare("framewire exact", levels(parts["exact"]), wanted)
    compare("framewire fast", levels(parts["fast"]), wanted)
    files = [torch.frombuffer(bytearray(d), dtype=torch.uint8) for d in data]
    batch = torch.empty((len(files), 3, SIDE, SIDE), dtype=torch.float16, device="cuda")
    on_device(files, crops, batch)
    compare("torchvision cuda", levels(batch.cpu().numpy()), wanted)
    rates = {}
    for _ in range(options.rounds):
        for name, more in (("framewire exact", ()), ("framewire fast", ("--fidelity", "fast"))):
            figures = run_framewire(options.program, options.folder, "--device", "0", "--bench",
                                    "--batch", str(options.batch), "--seconds", str(options.seconds),
                                    *more)
            rates.setdefault(name, []).append(figures["images_per_second"])
        for name, make in (("torchvision, cuda", on_device), ("torchvision, decode only", decode_only)):
            rates.setdefault(name, []).append(
                rate(make, files, crops, batch, options.batch, options.seconds))
    for name, values in rates.items():
        print(f"| {name} | {statistics.median(values):,.0f} | {min(values):,.0f} to {max(values):,.0f} |")


if __name__ == "__main__":
    main()
