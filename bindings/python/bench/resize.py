"""Speed of framewire.resize on one core, beside what else a Python program could use.

    python bindings/python/bench/resize.py PHOTOGRAPH… [--rounds 9]

JPEG bytes to JPEG bytes, 480×270, quality 80, 4:2:0, one thread. All peers by turns: one round
resizes every photograph once with each. A figure is the median over rounds of CPU time
(time.process_time) an image, so that other programs on the machine disturb little, with the lowest
and the highest round. Peers that are not installed are left out, and named. Before anything is
timed, each output is decoded and its size compared.

The overhead over C++ is, call by call, the wall time around framewire.resize_with_report() less the
time that its report gives for Resizer::resize(); the median over all calls.
"""

import argparse
import io
import os
import pathlib
import statistics
import sys
import time

# One thread each; read when the libraries are loaded.
for name in ("VIPS_CONCURRENCY", "OMP_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"):
    os.environ[name] = "1"

import framewire  # noqa: E402

WIDTH, HEIGHT, QUALITY = 480, 270, 80


def peer_framewire():
    return lambda jpeg: framewire.resize(jpeg, size=(WIDTH, HEIGHT), quality=QUALITY)


def peer_pillow(draft):
    from PIL import Image

    def resize(jpeg):
        picture = Image.open(io.BytesIO(jpeg))
        if draft:
            # Twice the size asked for, as Image.thumbnail() does, for a filter to work on.
            picture.draft("RGB", (2 * WIDTH, 2 * HEIGHT))
        out = io.BytesIO()
        picture.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS).save(
            out, "JPEG", quality=QUALITY, subsampling="4:2:0"
        )
        return out.getvalue()

    return resize


def peer_pyvips():
    import pyvips

    pyvips.cache_set_max(0)
    return lambda jpeg: pyvips.Image.thumbnail_buffer(
        jpeg, WIDTH, height=HEIGHT, size="force"
    ).jpegsave_buffer(Q=QUALITY, subsample_mode="on", strip=True)


def peer_simplejpeg():
    import cv2
    import simplejpeg

    cv2.setNumThreads(1)

    def resize(jpeg):
        # Decodes at the smallest scale that is no smaller than this.
        pixels = simplejpeg.decode_jpeg(jpeg, min_width=2 * WIDTH, min_height=2 * HEIGHT)
        small = cv2.resize(pixels, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
        return simplejpeg.encode_jpeg(small, quality=QUALITY, colorsubsampling="420")

    return resize


def peer_torchvision():
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg, encode_jpeg
    from torchvision.transforms.v2.functional import resize as torch_resize

    torch.set_num_threads(1)

    def resize(jpeg):
        data = torch.frombuffer(bytearray(jpeg), dtype=torch.uint8)
        pixels = decode_jpeg(data, mode=ImageReadMode.RGB)
        small = torch_resize(pixels, [HEIGHT, WIDTH], antialias=True)
        return encode_jpeg(small, quality=QUALITY).numpy().tobytes()

    return resize


PEERS = {
    "framewire": peer_framewire,
    "Pillow": lambda: peer_pillow(False),
    "Pillow, draft": lambda: peer_pillow(True),
    "pyvips": peer_pyvips,
    "simplejpeg + OpenCV": peer_simplejpeg,
    "torchvision": peer_torchvision,
}


def available():
    peers = {}
    for name, make in PEERS.items():
        try:
            peers[name] = make()
        except (ImportError, OSError) as error:
            print(f"left out: {name}: {error}", file=sys.stderr)
    return peers


def overhead(photos, rounds):
    """Medians of (microseconds beyond C++, microseconds in C++) of one call."""
    beyond, inside = [], []
    for _ in range(rounds):
        for jpeg in photos:
            began = time.perf_counter()
            result = framewire.resize_with_report(jpeg, size=(WIDTH, HEIGHT), quality=QUALITY)
            stream = result.jpeg
            wall_us = (time.perf_counter() - began) * 1e6
            assert stream
            inside.append(result.report.times.total_us)
            beyond.append(wall_us - inside[-1])
    return statistics.median(beyond), statistics.median(inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photographs", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    photos = [path.read_bytes() for path in arguments.photographs]
    peers = available()
    for name, resize in peers.items():
        for jpeg in photos:
            (size,) = framewire.sizes([resize(jpeg)])
            assert size == (WIDTH, HEIGHT), f"{name} makes {size}"
    rounds = {name: [] for name in peers}
    for _ in range(arguments.rounds):
        for name, resize in peers.items():
            began = time.process_time()
            for jpeg in photos:
                resize(jpeg)
            rounds[name].append((time.process_time() - began) / len(photos))
    ours = statistics.median(rounds["framewire"])
    print(f"{len(photos)} photographs, {arguments.rounds} rounds, CPU time of one image")
    print(f"{'':<22}{'ms':>8}{'least':>8}{'most':>8}{'images/s':>10}{'framewire is':>14}")
    for name, times in rounds.items():
        middle = statistics.median(times)
        print(f"{name:<22}{middle * 1e3:>8.2f}{min(times) * 1e3:>8.2f}{max(times) * 1e3:>8.2f}"
              f"{1 / middle:>10.0f}{middle / ours:>12.1f} ×")
    beyond, inside = overhead(photos, arguments.rounds)
    print(f"beyond C++: {beyond:.1f} µs of {inside + beyond:.0f} µs, {100 * beyond / inside:.2f} %")


if __name__ == "__main__":
    main()
