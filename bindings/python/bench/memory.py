"""Whether a process stays as large as it is while it decodes: resident memory, at ten points of a long run.

    python bindings/python/bench/memory.py [--tensors 1000000] [--resizes 100000]

Pictures of 24 to 152 pixels, baseline, progressive and gray, each cut by a random crop; one in a hundred is
damaged and one refused. They go through TensorDecoder(device="cpu") of two threads, 100 at once, and one by
one through resize(), half of them with options that nobody has used before.
"""

import argparse
import gc
import io
import os
import random
import time

import framewire
from PIL import Image

BATCH = 100
POINTS = 10


def resident_kb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def pictures(count):
    draw = random.Random(1)
    jpegs = []
    for i in range(count):
        size = draw.randrange(24, 153), draw.randrange(24, 153)
        picture = Image.effect_noise(size, 60).convert("L" if i % 7 == 0 else "RGB")
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=draw.randrange(60, 96), progressive=i % 5 == 0)
        jpegs.append(out.getvalue())
    jpegs[1] = jpegs[1][: len(jpegs[1]) // 2]
    jpegs[2] = b"no JPEG"
    return jpegs


def watch(name, rounds, work):
    """Calls work(round) so often; prints what is resident at the end of each tenth."""
    points, began = [], time.perf_counter()
    for turn in range(rounds):
        work(turn)
        if (turn + 1) % (rounds // POINTS) == 0:
            gc.collect()
            points.append(resident_kb())
    seconds = time.perf_counter() - began
    print(f"{name}: {seconds:.0f} s; KiB resident after each tenth: {' '.join(map(str, points))}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensors", type=int, default=1_000_000)
    parser.add_argument("--resizes", type=int, default=100_000)
    options = parser.parse_args()
    jpegs = pictures(BATCH)
    sizes = framewire.sizes(jpegs, on_error="return")
    decoder = framewire.TensorDecoder((32, 32), device="cpu", dtype="float16", threads=2)

    def batch(turn):
        crops = framewire.random_resized_crops(sizes, 1, turn, range(BATCH))
        done = decoder.decode(jpegs, crops, framewire.random_flips(1, turn, range(BATCH)))
        assert done.tensor.shape == (BATCH, 3, 32, 32) and sum(done.ok) >= BATCH - 2

    def resize(turn):
        options = {"size": "16x"} if turn % 2 else {"size": (8 + turn % 1000, None), "quality": 40 + turn % 50}
        try:
            framewire.resize(jpegs[turn % BATCH], **options)
        except framewire.InvalidInput:
            assert turn % BATCH == 2

    watch(f"{options.tensors} through TensorDecoder", options.tensors // BATCH, batch)
    watch(f"{options.resizes} through resize()", options.resizes, resize)


if __name__ == "__main__":
    main()
