#!/usr/bin/env python3
"""Makes inputs such as a service meets them, from a folder of photographs.

    make_mix.py PROGRAM PHOTOS OUT [--count N] [--seed S]

PROGRAM is framewire, which scales and encodes; what it does not write is put into the files here.
The seed decides everything. Each file of OUT has, independently of the others:

    size         0.1 to 24 megapixels, as many in each doubling, in the photograph's shape
    quality      75 to 95
    sampling     4:2:0 for 70 %, 4:2:2 15 %, 4:4:4 10 %, gray 5 %
    progressive  35 %
    profile      for 20 % one of 30, of curves and a matrix, in files of three components
    orientation  1 for half of them, 2 to 8 for the others
    damage       3 %: the file ends somewhere in its second half

OUT/mix.json tells what each file is. Damaged files are named damaged-*.jpg.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys

PROFILES = 30
MAX_AT_ONCE = 16


def at_once(function, items):
    """What the function makes of each item, on all cores; what has not begun is dropped where one
    fails, or where the script is ended."""
    with concurrent.futures.ThreadPoolExecutor(min(MAX_AT_ONCE, os.cpu_count() or 1)) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def fixed(value):
    """s15Fixed16Number (ICC.1:2010, 4.6)."""
    return struct.pack(">i", round(value * 65536))


def profile(number):
    """A display profile with primaries and a gamma of its own."""
    gamma = 1.6 + number % 10 / 10
    turn = number / PROFILES * 0.04
    columns = [
        (0.4361 + turn, 0.2225, 0.0139),
        (0.3851, 0.7169 + turn, 0.0971),
        (0.1431 - turn, 0.0606 - turn, 0.7141),
    ]
    text = b"mix %d" % number
    description = b"desc" + bytes(4) + struct.pack(">I", len(text) + 1) + text + bytes(1 + 78)
    curve = b"curv" + bytes(4) + struct.pack(">IH", 1, round(gamma * 256))
    tags = [(b"desc", description), (b"cprt", b"text" + bytes(4) + b"none\0")]
    tags.append((b"wtpt", b"XYZ " + bytes(4) + b"".join(map(fixed, (0.9642, 1.0, 0.8249)))))
    for name, column in zip((b"rXYZ", b"gXYZ", b"bXYZ"), columns):
        tags.append((name, b"XYZ " + bytes(4) + b"".join(map(fixed, column))))
    tags += [(name, curve) for name in (b"rTRC", b"gTRC", b"bTRC")]
    table = struct.pack(">I", len(tags))
    data = b""
    begin = 128 + 4 + 12 * len(tags)
    for name, value in tags:
        table += name + struct.pack(">II", begin + len(data), len(value))
        data += value + bytes(-len(value) % 4)
    size = 128 + len(table) + len(data)
    head = struct.pack(">I4sI4s4s4s", size, bytes(4), 0x02100000, b"mntr", b"RGB ", b"XYZ ")
    head += struct.pack(">6H4s", 2026, 1, 1, 0, 0, 0, b"acsp") + bytes(28)
    head += b"".join(map(fixed, (0.9642, 1.0, 0.8249)))
    return head.ljust(128, b"\0") + table + data


def segment(marker, payload):
    return bytes((0xFF, marker)) + struct.pack(">H", len(payload) + 2) + payload


def exif(orientation):
    entry = struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0)
    return segment(0xE1, b"Exif\0\0MM\0*" + struct.pack(">IH", 8, 1) + entry + bytes(4))


def draw(number, photos, sizes, seed):
    """What a file is to be."""
    rng = random.Random(f"{seed} {number}")
    photo = rng.choice(photos)
    width, height = sizes[photo]
    pixels = 1e5 * 240 ** rng.random()
    one = {
        "photo": photo.name,
        "width": max(16, round(math.sqrt(pixels * width / height))),
        "quality": rng.randint(75, 95),
        "sampling": rng.choices(("420", "422", "444", "gray"), (70, 15, 10, 5))[0],
        "progressive": rng.random() < 0.35,
        "profile": rng.randrange(PROFILES) if rng.random() < 0.2 else None,
        "orientation": 1 if rng.random() < 0.5 else rng.randint(2, 8),
        "damaged_at": rng.uniform(0.5, 0.99) if rng.random() < 0.03 else None,
    }
    if one["sampling"] == "gray":
        one["profile"] = None
    return one


def size_of(program, photo):
    """Sides as they are stored; None for what framewire does not read within a minute."""
    try:
        found = subprocess.run([program, "inspect", "--json", photo], capture_output=True,
                               check=False, timeout=60)
        frame = json.loads(found.stdout)["frame"]
        return frame["w"], frame["h"]
    except (ValueError, KeyError, TypeError, subprocess.TimeoutExpired):
        return None


def make(program, photo, one, out):
    command = [program, "resize", photo, out, "--size", f"{one['width']}x", "--enlarge", "--quality",
               str(one["quality"]), "--sampling", one["sampling"], "--always-encode", "--quiet",
               "--codec", "turbo", "--no-auto-orient", "--mode", "644"]
    subprocess.run(command + ["--progressive"] * one["progressive"], check=True)
    data = out.read_bytes()
    head = exif(one["orientation"])
    if one["profile"] is not None:
        head += segment(0xE2, b"ICC_PROFILE\0\x01\x01" + profile(one["profile"]))
    data = data[:2] + head + data[2:]
    if one["damaged_at"] is not None:
        data = data[: round(len(data) * one["damaged_at"])]
    out.write_bytes(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    photos = sorted(p for p in arguments.photos.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    sizes = dict(zip(photos, at_once(lambda photo: size_of(arguments.program, photo), photos)))
    photos = [photo for photo in photos if sizes[photo] is not None]
    if not photos:
        sys.exit(f"found no photographs in {arguments.photos}")
    arguments.out.mkdir(parents=True, exist_ok=True)

    def make_one(number):
        one = draw(number, photos, sizes, arguments.seed)
        photo = next(p for p in photos if p.name == one["photo"])
        kind = "damaged" if one["damaged_at"] is not None else "image"
        name = f"{kind}-{number:05}.jpg"
        make(arguments.program, photo, one, arguments.out / name)
        return name, one

    rows = dict(at_once(make_one, range(arguments.count)))
    (arguments.out / "mix.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
