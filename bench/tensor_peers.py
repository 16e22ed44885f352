#!/usr/bin/env python3
"""How fast framewire tensor, Pillow and torchvision make training batches on one core.

usage: tensor_peers.py PROGRAM FOLDER [--files 48] [--rounds 5] [--json FILE]

Makes files as ImageNet has them (500x375, quality 90, 4:2:0) of FOLDER's photographs, and 1920x1080
ones. Every peer gets the same files in memory and the same random crops, and makes 224x224, half
precision, normalised, NCHW. Rounds alternate between peers; figures are images per second of CPU time,
which other work on the machine disturbs less than wall time: the median, and the range.
"""

import argparse
import io
import json
import pathlib
import platform
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


def make_files(folder, into, count, width, height):
    """Parts of the photographs, of the wanted shape, scaled down."""
    photos = sorted(p for p in pathlib.Path(folder).rglob("*") if p.suffix in (".jpg", ".jpeg"))
    made = 0
    for turn in range(count):
        with Image.open(photos[turn % len(photos)]) as image:
            image = image.convert("RGB")
        wide, high = image.size
        scale = max(1.0, min(wide / width, high / height) * (0.55 + 0.45 * (turn % 5) / 4))
        w, h = min(wide, round(width * scale)), min(high, round(height * scale))
        left, top = (wide - w) * (turn * 7 % 11) // 10, (high - h) * (turn * 3 % 11) // 10
        part = image.crop((max(0, min(left, wide - w)), max(0, min(top, high - h)),
                           min(wide, left + w), min(high, top + h)))
        part.resize((width, height), Image.Resampling.LANCZOS).save(
            pathlib.Path(into) / f"{made:03}.jpg", quality=90, subsampling="4:2:0")
        made += 1


def pillow(data, crop, out):
    left, top, width, height = crop
    image = Image.open(io.BytesIO(data)).convert("RGB")
    image = image.crop((left, top, left + width, top + height)).resize(
        (SIDE, SIDE), Image.Resampling.BILINEAR)
    samples = numpy.asarray(image, dtype=numpy.float32) / 255
    out[:] = ((samples - MEAN) / STD).transpose(2, 0, 1)


def torchvision_cpu(data, crop, out):
    left, top, width, height = crop
    image = decode_jpeg(data, mode=ImageReadMode.RGB)
    image = transforms.resized_crop(image, top, left, height, width, [SIDE, SIDE], antialias=True)
    image = transforms.normalize(transforms.to_dtype(image, torch.float32, scale=True), MEAN, STD)
    out.copy_(image)


def measure_peer(make, files, crops, out):
    start = time.process_time()
    for i, (data, crop) in enumerate(zip(files, crops)):
        make(data, crop, out[i])
    return len(files) / (time.process_time() - start)


def run_framewire(program, folder, *more):
    command = [program, "tensor", folder, "--size", f"{SIDE}x{SIDE}", "--crop", "random", "--dtype",
               "float16", "--mean", ",".join(map(str, MEAN)), "--std", ",".join(map(str, STD)),
               "--jobs", "1", "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(program, folder, rounds):
    with tempfile.TemporaryDirectory() as work:
        out = pathlib.Path(work) / "batch.npy"
        run_framewire(program, folder, "--out", str(out))
        rows = [json.loads(line) for line in out.with_suffix(".jsonl").read_text().splitlines()]
    files = [pathlib.Path(row["input"]).read_bytes() for row in rows]
    tensors = [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files]
    crops = [row["crop"] for row in rows]
    arrays = numpy.empty((len(files), 3, SIDE, SIDE), numpy.float16)
    batch = torch.empty((len(files), 3, SIDE, SIDE), dtype=torch.float16)
    rates = {}
    for _ in range(rounds):
        for fidelity in ("exact", "fast"):
            figures = run_framewire(program, folder, "--bench", "--seconds", "1", "--fidelity",
                                    fidelity)
            rates.setdefault(f"framewire {fidelity}", []).append(figures["images_per_cpu_second"])
        rates.setdefault("Pillow", []).append(measure_peer(pillow, files, crops, arrays))
        rates.setdefault("torchvision", []).append(
            measure_peer(torchvision_cpu, tensors, crops, batch))
    size = sum(map(len, files)) / len(files)
    return rates, size


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ")[1]
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--files", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write the figures there, too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    result = {"cpu": cpu_model(), "pillow": Image.__version__, "torch": torch.__version__,
              "torchvision": torchvision.__version__, "files": options.files, "rows": []}
    print(f"{result['cpu']}; Pillow {Image.__version__}, torchvision {torchvision.__version__}")
    print("| files | peer | images per CPU second | range |\n|---|---|---|---|")
    for width, height in ((500, 375), (1920, 1080)):
        with tempfile.TemporaryDirectory() as folder:
            make_files(options.folder, folder, options.files, width, height)
            rates, size = measure(options.program, folder, options.rounds)
        for peer, values in rates.items():
            name = f"{width}×{height}, {size / 1000:.0f} KB"
            print(f"| {name} | {peer} | {statistics.median(values):.0f} | "
                  f"{min(values):.0f} to {max(values):.0f} |")
            result["rows"].append({"files": name, "peer": peer, "rates": values})
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
