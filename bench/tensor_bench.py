"""What the measurements of training batches share: the recipe, its files, peers, rates and tables.

The recipe is 224x224, normalised, NCHW, of random crops, bilinear.
"""

import io
import json
import pathlib
import platform
import statistics
import subprocess
import time

import numpy
from PIL import Image

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIDE = 224
ROW = "| {} | {:,.0f} | {:,.0f} to {:,.0f} |"


def make_files(folder, into, count, width, height):
    """Parts of the photographs, of the wanted shape, scaled down."""
    photos = sorted(p for p in pathlib.Path(folder).rglob("*") if p.suffix in (".jpg", ".jpeg"))
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
            pathlib.Path(into) / f"{turn:03}.jpg", quality=90, subsampling="4:2:0")


def draw_file(seed, width, height):
    """A picture without a photograph: noise of every scale, weighted so that a file of 500x375 takes
    some 40 KB, as ImageNet's do. JPEG bytes, quality 90, 4:2:0."""
    random = numpy.random.default_rng(seed)
    picture = numpy.zeros((height, width, 3), numpy.float32)
    for side, weight in ((2, 50), (5, 40), (12, 30), (30, 20), (80, 12), (200, 6), (500, 3)):
        noise = random.integers(0, 256, (max(2, side * height // width), side, 3), numpy.uint8)
        picture += weight / 80 * (numpy.asarray(Image.fromarray(noise).resize(
            (width, height), Image.Resampling.BICUBIC), numpy.float32) - 128)
    out = io.BytesIO()
    Image.fromarray((picture + 128).clip(0, 255).astype(numpy.uint8)).save(
        out, "JPEG", quality=90, subsampling="4:2:0")
    return out.getvalue()


def framewire_program(program, folder, *more):
    """The document of `framewire tensor` for the recipe in half precision."""
    command = [program, "tensor", folder, "--size", f"{SIDE}x{SIDE}", "--crop", "random", "--dtype",
               "float16", "--mean", ",".join(map(str, MEAN)), "--std", ",".join(map(str, STD)),
               "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def program_batch(program, folder, out, *more):
    """The batch that the program makes of a folder, and the lines that tell of its images."""
    framewire_program(program, folder, "--out", str(out), *more)
    rows = [json.loads(line) for line in out.with_suffix(".jsonl").read_text().splitlines()]
    return numpy.load(out), rows


def pillow(data, crop):
    """Decoded, cropped and resized by Pillow: [SIDE][SIDE][3], levels from 0 to 255."""
    left, top, width, height = crop
    image = Image.open(io.BytesIO(data)).convert("RGB").crop((left, top, left + width, top + height))
    return numpy.asarray(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=numpy.float32)


def levels(batch):
    """Samples of a normalised batch, as numbers between 0 and 255, [N][SIDE][SIDE][3]."""
    mean = numpy.array(MEAN, numpy.float32)[:, None, None]
    std = numpy.array(STD, numpy.float32)[:, None, None]
    return ((numpy.asarray(batch, numpy.float32) * std + mean) * 255).transpose(0, 2, 3, 1)


def distance(name, found, wanted, of="Pillow"):
    """Prints and returns the differences of two batches of levels."""
    off = numpy.abs(found - wanted)
    figures = {"largest": float(off.max()), "p999": float(numpy.quantile(off, 0.999)),
               "mean": float(off.mean())}
    print(f"{name}: from {of} at most {figures['largest']:.2f}, 99.9 % {figures['p999']:.2f}, "
          f"mean {figures['mean']:.3f}")
    return figures


def rate(make, files, crops, size, seconds, synchronize):
    """Images a second of wall time: `make(files, crops)` of batch after batch, each waited for."""
    made, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for i in range(0, len(files), size):
            make(files[i:i + size], crops[i:i + size])
            synchronize()
            made += len(files[i:i + size])
    return made / (time.perf_counter() - start)


def print_rates(rates, prefix=""):
    """One row of a table a peer: the median and the range."""
    for name, values in rates.items():
        print(prefix + ROW.format(name, statistics.median(values), min(values), max(values)))


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ")[1]
    return platform.processor()
