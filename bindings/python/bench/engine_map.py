"""What Engine.map costs from one Python thread.

    python bindings/python/bench/engine_map.py PHOTOGRAPH… [--images 400] [--rounds 5] [--size 480x270]
        [--codec turbo] [--program build/release/apps/framewire/framewire]

An engine's threads do the work, and one Python thread hands in requests and takes answers. Its CPU time
for an image (time.thread_time) bounds the rate that it can keep up: 10 µs are 100,000 images/s. Beside it
stand the CPU time of the whole process for an image, the rate, and, with --program, the rate of
`framewire bench jpeg2jpeg` of the same build with the same files, by turns. Medians over rounds, with the
lowest and the highest.

Much of that time is the kernel's, for waking the thread. What the package itself costs is measured apart,
with 6,000 pictures of 16×16 behind one that takes long: to read and hand them in while none is answered,
and to take and give their answers once all are there.
"""

import argparse
import io
import json
import pathlib
import statistics
import subprocess
import time

import framewire
from PIL import Image

COUNT = 6_000  # answers that wait at once


def one_round(engine, jpegs, size):
    wall, thread, process = time.perf_counter(), time.thread_time(), time.process_time()
    done = sum(1 for _ in engine.map(jpegs, size=size, resize="force"))
    figures = {"images/s": done / (time.perf_counter() - wall),
               "µs of this thread": (time.thread_time() - thread) / done * 1e6,
               "µs of CPU in all": (time.process_time() - process) / done * 1e6}
    assert done == len(jpegs)
    return figures


def from_program(options):
    command = [options.program, "bench", "jpeg2jpeg", *options.photographs, "--size", options.size,
               "--resize", "force", "--codec", options.codec, "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"images/s from C++": report["rows"][0]["images_per_second"]}


def noise(width, height, **save):
    out = io.BytesIO()
    Image.effect_noise((width, height), 60).convert("RGB").save(out, "JPEG", **save)
    return out.getvalue()


def without_waiting(engine, slow, items):
    """µs of this thread for an image: handed in, and given."""
    done = engine.stats().host_images + 1 + len(items)
    began = time.thread_time()
    answers = engine.map([slow, *items], size="64x64", window=2 * len(items))
    next(answers)
    handed_in = (time.thread_time() - began) / len(items) * 1e6
    while engine.stats().host_images < done:
        time.sleep(0.02)
    for _ in range(len(items) // 10):  # takes what came later
        next(answers)
    began = time.thread_time()
    given = sum(1 for _ in answers)
    return handed_in, (time.thread_time() - began) / given * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photographs", nargs="+")
    parser.add_argument("--images", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", default="480x270")
    parser.add_argument("--codec", default="turbo")
    parser.add_argument("--program")
    options = parser.parse_args()
    photos = [pathlib.Path(path).read_bytes() for path in options.photographs]
    jpegs = [photos[i % len(photos)] for i in range(options.images)]
    rounds = {}
    with framewire.Engine(options.codec) as engine:
        for turn in range(options.rounds + 1):  # the first one warms up
            figures = one_round(engine, jpegs, options.size)
            if options.program and turn:
                figures.update(from_program(options))
            for name, value in figures.items() if turn else ():
                rounds.setdefault(name, []).append(value)
    slow, small = noise(3000, 2000, quality=90, progressive=True), noise(16, 16, quality=50)
    with framewire.Engine("turbo", threads=1, queue=2 * COUNT) as engine:
        for kind, item in ("alike", small), ("with options of their own", (small, {"size": "64x64"})):
            for _ in range(options.rounds):
                handed_in, given = without_waiting(engine, slow, [item] * COUNT)
                rounds.setdefault(f"µs to hand in, {kind}", []).append(handed_in)
                rounds.setdefault(f"µs to give, {kind}", []).append(given)
    for name, values in rounds.items():
        print(f"{name:<44}{statistics.median(values):>12.1f}  ({min(values):.1f} to {max(values):.1f})")


if __name__ == "__main__":
    main()
