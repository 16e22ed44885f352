#!/usr/bin/env python3
"""Checks, then times, framewire.TensorDecoder(device=0) from Python beside torchvision on the GPU.

usage: gpu_python_tensors.py [FOLDER] [--json FILE] [--device 0] [--rounds 3] [--seconds 2]
                             [--batches 256,1024] [--program FRAMEWIRE] [--train]

The recipe is 224x224, half precision, normalised, NCHW, of random crops, into device memory; files lie in
host memory. FOLDER's JPEGs, or, without one, drawn files of 500x375 and 40 KB. Needs framewire, built with
CUDA, torch, torchvision, numpy and Pillow; CuPy is checked where it is.

Checked first, with exit status 1 where it fails: the device's batch against the CPU decoder's, within 4
levels of 255; torch and CuPy see the same memory; `out`, two streams and memory that is used again. The
distances of all peers from Pillow are printed.

Timed: images a second of wall time, each batch waited for, and those of map(), which overlap; rounds
alternate between the peers; the median and the range. `--program` adds `framewire tensor --bench`, the same from C++. `--train` adds the step of a
ResNet-50 (compiled, channels last, bfloat16) that is fed by a thread with a decoder, as a share of the
step's own rate.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import queue
import statistics
import sys
import tempfile
import threading
import time

import framewire
import numpy
import torch
import torchvision
from tensor_bench import (MEAN, SIDE, STD, cpu_model, distance, draw_file, framewire_program, levels,
                          pillow, print_rates, rate)
from torchvision_peer import decode_on_device, on_device, tensors_of

FIDELITIES = ("exact", "fast")


def read_files(folder, count):
    if folder is None:
        with concurrent.futures.ProcessPoolExecutor() as pool:
            return list(pool.map(functools.partial(draw_file, width=500, height=375), range(count)))
    paths = sorted(p for p in pathlib.Path(folder).rglob("*") if p.suffix in (".jpg", ".jpeg"))
    return [path.read_bytes() for path in paths]


def make_decoder(device, fidelity="exact", **more):
    return framewire.TensorDecoder((SIDE, SIDE), device=device, dtype="float16", mean=MEAN, std=STD,
                                   fidelity=fidelity, **more)


def check(files, crops, device):
    """Differences from the CPU and from Pillow; exits where something is wrong."""
    files, crops = files[:256], crops[:256]
    cuda = torch.device("cuda", device)
    report = {}
    wanted = numpy.stack([pillow(*each) for each in zip(files, crops)])
    for fidelity in FIDELITIES:
        on_cpu = make_decoder("cpu", fidelity).decode(files, crops)
        decoder = make_decoder(device, fidelity)
        batch = decoder.decode(files, crops)
        taken = torch.from_dlpack(batch.tensor)
        assert taken.device == cuda and batch.errors == on_cpu.errors, batch.errors
        found = levels(taken.cpu().numpy())
        report[f"framewire {fidelity}"] = distance(f"framewire {fidelity}", found, wanted)
        off = distance(f"framewire {fidelity}", found, levels(on_cpu.tensor.numpy()), "its CPU decoder")
        report[f"framewire {fidelity}, from the CPU"] = off
        assert off["largest"] <= 4, "too far from the CPU's"
        out = torch.empty_like(taken)
        assert decoder.decode(files, crops, out=out).tensor is out and torch.equal(out, taken)
    check_streams(decoder, files, crops, taken)
    check_cupy(batch.tensor, taken)
    batch = torch.empty_like(taken)
    on_device(tensors_of(files), crops, batch)
    report["torchvision"] = distance("torchvision", levels(batch.cpu().numpy()), wanted)
    return report


def check_streams(decoder, files, crops, wanted):
    """Batches that are let go of while a stream still reads them are not written."""
    stream = torch.cuda.Stream(wanted.device)
    for named in (stream, None):
        copies = []
        with torch.cuda.stream(stream):
            for _ in range(8):
                taken = torch.from_dlpack(decoder.decode(files, crops, stream=named).tensor)
                torch.cuda._sleep(50_000_000)
                copies.append(taken.clone())
                del taken
        stream.synchronize()
        assert all(torch.equal(copy, wanted) for copy in copies), "written while it was read"


def check_cupy(tensor, taken):
    try:
        import cupy
    except ImportError:
        print("CuPy is not here: not checked")
        return
    arrays = [cupy.from_dlpack(tensor), cupy.asarray(tensor)]
    assert {array.data.ptr for array in arrays} == {taken.data_ptr()}, "CuPy sees other memory"


def timed_peers(device, fidelity, out):
    """What makes a batch, by name; each waits for it, as decode() does."""
    decoder = make_decoder(device, fidelity)

    def with_out(files, crops):
        decoder.decode(files, crops, out=out[:len(files)])

    return {f"framewire {fidelity}": lambda files, crops: decoder.decode(files, crops),
            f"framewire {fidelity}, into a torch tensor": with_out}


def rate_of_map(decoder, files, crops, size, seconds):
    """As rate(), by map(): batches that are begun while those before are made."""
    made, start = 0, time.perf_counter()

    def batches():
        while time.perf_counter() - start < seconds:
            for i in range(0, len(files), size):
                yield files[i:i + size], crops[i:i + size]

    for batch in decoder.map(batches()):
        made += len(batch)
    return made / (time.perf_counter() - start)


def measure(options, files, crops, size):
    out = torch.empty((size, 3, SIDE, SIDE), dtype=torch.float16, device=torch.device("cuda", options.device))
    peers = {name: (make, files) for fidelity in FIDELITIES
             for name, make in timed_peers(options.device, fidelity, out).items()}
    mapping = {fidelity: make_decoder(options.device, fidelity) for fidelity in FIDELITIES}
    tensors = tensors_of(files)
    peers["torchvision"] = (lambda files, crops: on_device(files, crops, out), tensors)
    peers["torchvision, decode only"] = (lambda files, _crops: decode_on_device(files), tensors)
    rates = {}
    for turn in range(options.rounds + 1):  # the first round only warms up
        for name, (make, data) in peers.items():
            made = rate(make, data, crops, size, options.seconds if turn else 0.2, torch.cuda.synchronize)
            if turn:
                rates.setdefault(name, []).append(made)
        for fidelity, decoder in mapping.items():
            made = rate_of_map(decoder, files, crops, size, options.seconds if turn else 0.2)
            if turn:
                rates.setdefault(f"framewire {fidelity}, map()", []).append(made)
        if turn and options.program:
            for under_way in (1, 3):
                rates.setdefault(f"framewire exact, from C++, {under_way} under way", []).append(
                    from_program(options, files, size, under_way))
    return rates


def from_program(options, files, size, under_way):
    with tempfile.TemporaryDirectory() as folder:
        for i, data in enumerate(files):
            (pathlib.Path(folder) / f"{i:05}.jpg").write_bytes(data)
        return framewire_program(options.program, folder, "--device", str(options.device), "--bench",
                                 "--batch", str(size), "--seconds", str(options.seconds),
                                 "--under-way", str(under_way))["images_per_second"]


class Feeder:
    """A thread that keeps batches ready, in a few tensors by turns."""

    def __init__(self, make, batches, size, cuda):
        self.free, self.ready = queue.Queue(), queue.Queue()
        for _ in range(3):
            out = torch.empty((size, 3, SIDE, SIDE), dtype=torch.float16, device=cuda)
            self.free.put((out, torch.cuda.Event()))
        self.thread = threading.Thread(target=self.work, args=(make, batches), daemon=True)
        self.thread.start()

    def work(self, make, batches):
        for files, crops in batches:
            out, read = self.free.get()
            read.synchronize()
            make(files, crops, out)
            self.ready.put((out, read))


def train(options, files, crops, steps=60, size=256):
    """Images a second of a training step: with the same batch again and again, and fed. Each in the stream
    that torch takes by itself, and in one of higher priority than the decoder's."""
    cuda = torch.device("cuda", options.device)
    model = torchvision.models.resnet50().to(cuda, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    labels = torch.randint(0, 1000, (size,), device=cuda)
    compiled = torch.compile(model)

    def step(images):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(compiled(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    def timed(next_batch, done, stream):
        torch.cuda.synchronize()
        began = time.perf_counter()
        with torch.cuda.stream(stream):
            for _ in range(steps):
                held = next_batch()
                step(held[0].contiguous(memory_format=torch.channels_last))
                done(held)
        torch.cuda.synchronize()
        return steps * size / (time.perf_counter() - began)

    same = torch.rand((size, 3, SIDE, SIDE), dtype=torch.float16, device=cuda)
    tensors = tensors_of(files)
    decoder = make_decoder(options.device)
    makers = {"fed by framewire": (lambda files, crops, out: decoder.decode(files, crops, out=out), files),
              "fed by torchvision": (fed_by_torchvision, tensors)}
    streams = {"": torch.cuda.current_stream(cuda), ", step first": torch.cuda.Stream(cuda, priority=-1)}
    for stream in streams.values():  # compiles, and takes memory
        with torch.cuda.stream(stream):
            for _ in range(8):
                step(same.contiguous(memory_format=torch.channels_last))
    rates = {}
    for suffix, stream in list(streams.items()) * options.rounds:
        own = timed(lambda: (same,), lambda _held: None, stream)
        rates.setdefault("the same batch" + suffix, []).append(own)
        for name, (make, data) in makers.items():
            starts = [(i * size) % (len(data) - size + 1) for i in range(steps + 2)]
            feeder = Feeder(make, [(data[i:i + size], crops[i:i + size]) for i in starts], size, cuda)

            def done(held, feeder=feeder):
                held[1].record()
                feeder.free.put(held)

            time.sleep(0.5)
            rates.setdefault(name + suffix, []).append(timed(feeder.ready.get, done, stream))
            feeder.thread.join()
    return rates


def fed_by_torchvision(files, crops, out):
    stream = torch.cuda.Stream(out.device)
    with torch.cuda.stream(stream):
        on_device(files, crops, out)
    stream.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--json", help="write the figures there, too")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--files", type=int, default=1024, help="drawn without a folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--batches", default="256,1024")
    parser.add_argument("--program")
    parser.add_argument("--train", action="store_true")
    options = parser.parse_args()
    torch.cuda.set_device(options.device)
    files = read_files(options.folder, options.files)
    sizes = framewire.sizes(files)
    crops = framewire.random_resized_crops(sizes, 1, 0, range(len(files)))
    result = {"device": torch.cuda.get_device_name(options.device), "cpu": cpu_model(),
              "cores": len(os.sched_getaffinity(0)), "python": sys.version.split()[0],
              "framewire": framewire.__version__, "torch": torch.__version__,
              "torchvision": torchvision.__version__, "files": len(files), "sizes": sorted(set(sizes))[:9],
              "mean_bytes": sum(map(len, files)) / len(files), "rows": []}
    print({name: result[name] for name in ("device", "cpu", "cores", "python", "torch", "torchvision", "files")})

    def save():
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")

    result["differences"] = check(files, crops, options.device)
    print("checked\n\n| peer, batch | images/s | range |\n|---|---|---|")
    save()
    for size in map(int, options.batches.split(",")):
        rates = measure(options, files, crops, size)
        print_rates({f"{name}, {size}": values for name, values in rates.items()})
        result["rows"] += [{"peer": name, "batch": size, "rates": values} for name, values in rates.items()]
        save()
    if options.train:
        result["training"] = train(options, files, crops)
        print_rates(result["training"])
        for name, values in result["training"].items():
            suffix = ", step first" if name.endswith("first") else ""
            own = statistics.median(result["training"]["the same batch" + suffix])
            print(f"{name}: {100 * statistics.median(values) / own:.1f} % of the step's own rate")
        save()


if __name__ == "__main__":
    main()
