#!/usr/bin/env python3
"""How fast framewire tensor, Pillow and torchvision make training batches on one core.

usage: tensor_peers.py PROGRAM FOLDER [--files 48] [--rounds 5] [--json FILE]

Makes files as ImageNet has them (500x375, quality 90, 4:2:0) of FOLDER's photographs, and 1920x1080
ones. Every peer gets the same files in memory and the same random crops, and makes 224x224, half
precision, normalised, NCHW. Rounds alternate between peers; figures are images per second of CPU time,
which other work on the machine disturbs less than wall time: the median, and the range.
"""

import argparse
import json
import pathlib
import tempfile
import time

import numpy
import torch
import torchvision
from PIL import Image
from tensor_bench import (MEAN, SIDE, STD, cpu_model, framewire_program, make_files, pillow,
                          print_rates, program_batch)
from torchvision_peer import on_cpu, tensors_of


def pillow_sample(data, crop, out):
    out[:] = ((pillow(data, crop) / 255 - MEAN) / STD).transpose(2, 0, 1)


def torchvision_sample(data, crop, out):
    out.copy_(on_cpu(data, crop))


def measure_peer(make, files, crops, out):
    start = time.process_time()
    for i, (data, crop) in enumerate(zip(files, crops)):
        make(data, crop, out[i])
    return len(files) / (time.process_time() - start)


def measure(program, folder, rounds):
    with tempfile.TemporaryDirectory() as work:
        _, rows = program_batch(program, folder, pathlib.Path(work) / "batch.npy", "--jobs", "1")
    files = [pathlib.Path(row["input"]).read_bytes() for row in rows]
    tensors = tensors_of(files)
    crops = [row["crop"] for row in rows]
    arrays = numpy.empty((len(files), 3, SIDE, SIDE), numpy.float16)
    batch = torch.empty((len(files), 3, SIDE, SIDE), dtype=torch.float16)
    rates = {}
    for _ in range(rounds):
        for fidelity in ("exact", "fast"):
            figures = framewire_program(program, folder, "--jobs", "1", "--bench", "--seconds", "1",
                                        "--fidelity", fidelity)
            rates.setdefault(f"framewire {fidelity}", []).append(figures["images_per_cpu_second"])
        rates.setdefault("Pillow", []).append(measure_peer(pillow_sample, files, crops, arrays))
        rates.setdefault("torchvision", []).append(
            measure_peer(torchvision_sample, tensors, crops, batch))
    return rates, sum(map(len, files)) / len(files)


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
        name = f"{width}×{height}, {size / 1000:.0f} KB"
        print_rates(rates, f"| {name} ")
        for peer, values in rates.items():
            result["rows"].append({"files": name, "peer": peer, "rates": values})
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
