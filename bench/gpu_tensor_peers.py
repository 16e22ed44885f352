#!/usr/bin/env python3
"""How fast framewire tensor --device, torchvision on a GPU, and Pillow make training batches.

usage: gpu_tensor_peers.py PROGRAM FOLDER [--batch 256] [--rounds 3] [--seconds 2]

All get FOLDER's files in memory and the same random crops, and make 224x224, half precision, normalised,
NCHW, on the device. Rounds alternate between peers; figures are images per second of wall time: the
median, and the range. The differences are those from Pillow's decode, crop and resize, in levels of 255.
The same from Python: gpu_python_tensors.py.
"""

import argparse
import pathlib
import tempfile

import numpy
import torch
import torchvision
from tensor_bench import (SIDE, distance, framewire_program, levels, pillow, print_rates,
                          program_batch, rate)
from torchvision_peer import decode_on_device, on_device, tensors_of

FIDELITIES = (("framewire exact", ()), ("framewire fast", ("--fidelity", "fast")))


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
        for name, more in FIDELITIES:
            out = pathlib.Path(work) / f"{name.split()[1]}.npy"
            parts[name], rows = program_batch(options.program, options.folder, out, "--device", "0", *more)
    data = [pathlib.Path(row["input"]).read_bytes() for row in rows]
    crops = [row["crop"] for row in rows]
    wanted = numpy.stack([pillow(d, c) for d, c in zip(data, crops)])
    for name, part in parts.items():
        distance(name, levels(part), wanted)
    files = tensors_of(data)
    batch = torch.empty((len(files), 3, SIDE, SIDE), dtype=torch.float16, device="cuda")
    on_device(files, crops, batch)
    distance("torchvision cuda", levels(batch.cpu().numpy()), wanted)
    peers = {"torchvision, cuda": lambda files, crops: on_device(files, crops, batch),
             "torchvision, decode only": lambda files, _crops: decode_on_device(files)}
    rates = {}
    for _ in range(options.rounds):
        for name, more in FIDELITIES:
            figures = framewire_program(options.program, options.folder, "--device", "0", "--bench",
                                        "--batch", str(options.batch), "--seconds",
                                        str(options.seconds), *more)
            rates.setdefault(name, []).append(figures["images_per_second"])
        for name, make in peers.items():
            rates.setdefault(name, []).append(
                rate(make, files, crops, options.batch, options.seconds, torch.cuda.synchronize))
    print_rates(rates)


if __name__ == "__main__":
    main()
