"""What Python costs beyond C++: framewire.resize() and Engine.map() beside the same calls from C++, by turns.

    cmake --build build/python --target cpp_peer        # after ./dev wheel
    python bindings/python/bench/beyond_cpp.py build/python/libcpp_peer.so PHOTOGRAPH… [--rounds 30]
        [--threads 2] [--size 480x270]

Both are in one process, with the same objects of the library, and take rounds in turn. A round of resize()
is a loop over the photographs, and stands beside the same loop over Resizer::resize(). A round of
Engine.map() stands beside one of an Engine in C++, to which groups as large are handed in as far ahead. The CPU
time is the whole process'. Shares are those of neighbouring rounds, with their median; and the share of the
cheapest rounds.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import time

import framewire

QUALITY = 80


class Input(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("size", ctypes.c_size_t)]


def load(path):
    peer = ctypes.CDLL(str(path.resolve()))
    peer.peer_resize.restype = ctypes.c_size_t
    peer.peer_resize.argtypes = [ctypes.POINTER(Input), ctypes.c_size_t, *[ctypes.c_int] * 3]
    peer.peer_engine.restype = ctypes.c_void_p
    peer.peer_map.restype = ctypes.c_size_t
    peer.peer_map.argtypes = [ctypes.c_void_p, ctypes.POINTER(Input), *[ctypes.c_size_t] * 3, *[ctypes.c_int] * 3]
    return peer


def show(name, values, unit):
    print(f"{name:<44}{statistics.median(values):>10.2f} {unit}  ({min(values):.2f} to {max(values):.2f})")


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f}, quartiles {low:.2f} and {high:.2f}"


def in_turn(calls, count, rounds, warm=1):
    """({name: images/s of each round}, {name: CPU time of an image, in µs}); in turn first and last."""
    rates, costs = {name: [] for name in calls}, {name: [] for name in calls}
    for turn in range(warm + rounds):
        for name, call in list(calls.items())[:: 1 if turn % 2 else -1]:
            wall, cpu = time.perf_counter(), time.process_time()
            assert call() == count
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            if turn >= warm:
                rates[name].append(count / wall)
                costs[name].append(cpu / count * 1e6)
    return rates, costs


def compare(what, values, unit):
    (ours, mine), (theirs, cpp) = values.items()
    for name, figures in values.items():
        show(f"{name}, {what}", figures, unit)
    shares = [100 * a / b for a, b in zip(mine, cpp)]
    print(f"{ours} of {theirs}, {len(shares)} pairs: {quartiles(shares)} %; least {100 * min(mine) / min(cpp):.2f} %")


def one_by_one(peer, photos, rounds, size):
    inputs = (Input * len(photos))(*[Input(jpeg, len(jpeg)) for jpeg in photos])

    def from_python():
        done = 0
        for jpeg in photos:
            framewire.resize(jpeg, size=size, quality=QUALITY)
            done += 1
        return done

    def from_cpp():
        return peer.peer_resize(inputs, len(photos), *size, QUALITY)

    _, costs = in_turn({"resize()": from_python, "Resizer::resize()": from_cpp}, len(photos), rounds)
    compare("CPU time of an image", costs, "µs")


def mapped(peer, photos, rounds, size, threads, images):
    jpegs = [photos[i % len(photos)] for i in range(images)]
    inputs = (Input * images)(*[Input(jpeg, len(jpeg)) for jpeg in jpegs])
    native = peer.peer_engine(threads)
    window = max(16, 4 * threads)
    group = max(1, window // 8)
    with framewire.Engine("turbo", threads=threads) as engine:

        def from_python():
            return sum(1 for _ in engine.map(jpegs, size=size, quality=QUALITY))

        def from_cpp():
            return peer.peer_map(native, inputs, images, window, group, *size, QUALITY)

        rates, costs = in_turn({"Engine.map()": from_python, "Engine of C++": from_cpp}, images, rounds)
    print(f"{threads} threads, {images} images a round")
    compare("rate", rates, "images/s")
    compare("CPU time of an image", costs, "µs")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", type=pathlib.Path)
    parser.add_argument("photographs", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--size", default="480x270")
    options = parser.parse_args()
    peer = load(options.peer)
    photos = [path.read_bytes() for path in options.photographs]
    size = tuple(int(side) for side in options.size.split("x"))
    one_by_one(peer, photos, options.rounds, size)
    mapped(peer, photos, options.rounds, size, options.threads, options.images)
    print("load " + " ".join(f"{value:.1f}" for value in os.getloadavg()))


if __name__ == "__main__":
    main()
