"""What gpus.py and gpu_sweeps.py share: inputs, runs of the program with a time limit, reports."""

import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time

from make_mix import at_once, size_of
from serve_bench import photographs

GPU_CODECS = ("cuda", "nvjpeg")
CODECS = (*GPU_CODECS, "turbo", "reference")
MAX_GPUS = 64
MAX_PHOTOS = 48
MAX_SIDE = 16384
SHARES = (0, 1, 3, 10, 30, 100)
# What one file may take to be encoded, and all of them, before a photograph is given up.
FILE_TIME_S = 120
INPUTS_TIME_S = 1200
# Starting the program and the engine, and trying each input once: an allowance, not a measurement.
START_S = 8
# Of every window the program measures: until its queue is full, and until it is empty again.
AROUND_WINDOW_S = 1
INPUTS_VERSION = 1


class BenchFailed(Exception):
    """A run of the program that gave no figures; the text says why."""


class Deadline:
    """The moment at which a script ends, whatever its runs do."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()


def refuse(text, accepted):
    raise argparse.ArgumentTypeError(f"found '{text}'; accepted: {accepted}")


def number(low, high, kind=int):
    """A type for argparse: numbers from `low` to `high`."""
    def read(text):
        with contextlib.suppress(ValueError):
            if low <= kind(text) <= high:
                return kind(text)
        return refuse(text, f"a number from {low:,} to {high:,}")
    return read


def numbers(low, high, kind=int, most=64):
    """A type for argparse: at most so many different numbers joined by commas, sorted."""
    def read(text):
        with contextlib.suppress(ValueError):
            found = sorted({kind(part) for part in text.split(",")})
            if low <= found[0] and found[-1] <= high and len(found) <= most:
                return found
        return refuse(text, f"numbers from {low:,} to {high:,}, joined by commas, at most {most}")
    return read


def words(accepted):
    """A type for argparse: some of the words accepted, joined by commas, in the order of these."""
    def read(text):
        chosen = text.split(",")
        if set(chosen) <= set(accepted):
            return [word for word in accepted if word in chosen]
        return refuse(text, f"{', '.join(accepted)}, joined by commas")
    return read


def box(text):
    """A type for argparse: a width and a height."""
    found = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text)
    if found and max(int(side) for side in found.groups()) <= MAX_SIDE:
        return text
    return refuse(text, f"WIDTHxHEIGHT, each from 1 to {MAX_SIDE}")


def add_arguments(parser):
    parser.add_argument("--gpus", type=numbers(1, MAX_GPUS),
                        help="numbers of GPUs to measure, joined by commas; 1 to as many as there "
                             "are, if not given")
    parser.add_argument("--codec", choices=CODECS, default="cuda",
                        help="on the CPU (turbo, reference) --gpus counts host threads instead")
    parser.add_argument("--memory", choices=("engine", "own"), default="engine",
                        help="where inputs lie: where GPUs copy from, or in the program's memory")
    parser.add_argument("--seconds", type=number(0.05, 600, float), default=1.0,
                        help="length of one window of throughput")
    parser.add_argument("--repeat", type=number(1, 99), default=3,
                        help="turns; the median counts")
    parser.add_argument("--size", type=box, default="480x270", metavar="WxH", help="of outputs")
    parser.add_argument("--quality", type=number(1, 100), default=90, help="of outputs")
    parser.add_argument("--cores", type=number(1, 4096), metavar="N",
                        help="of the host, for each GPU; all for any number of GPUs, if not given")
    parser.add_argument("--flags", default="", help="more options of the program: \"--warm 20G\"")
    parser.add_argument("--input-size", type=box, default="1920x1080", metavar="WxH",
                        help="of inputs, those of the mix excepted")
    parser.add_argument("--input-quality", type=number(1, 100), default=90,
                        help="of inputs, those of the mix excepted")
    parser.add_argument("--files", type=number(100, 10000), default=300,
                        help="inputs of one size; repeats photographs to make so many")
    parser.add_argument("--mix-count", type=number(1, 10000), default=36,
                        help="files of the mix")
    parser.add_argument("--limit", type=number(1, 7 * 86400), metavar="SECONDS",
                        help="end after this time, inputs excepted; what has not begun by then is "
                             "told; if not given, twice the time expected and a minute")


def resolve_program(name):
    """The whole path of the program; ends the script where there is none."""
    found = shutil.which(name)
    if found is None:
        sys.exit(f"{name}: found no program; accepted: framewire, as built")
    return str(pathlib.Path(found).resolve())


def count_gpus(program):
    """How many GPUs `framewire doctor` finds."""
    try:
        said = subprocess.run([program, "doctor", "--json"], capture_output=True, timeout=60,
                              check=False).stdout
        return len(json.loads(said)["gpus"])
    except (OSError, ValueError, KeyError, TypeError, subprocess.TimeoutExpired) as error:
        sys.exit(f"{program}: cannot tell how many GPUs there are ({error!r}); say --gpus 1")


def choose_counts(arguments):
    """The numbers of GPUs, or of threads, to measure."""
    if arguments.gpus is not None:
        return arguments.gpus
    if arguments.codec not in GPU_CODECS:
        return [1]
    found = count_gpus(arguments.program)
    if found == 0:
        sys.exit("found no GPU; accepted without one: --codec turbo, or --gpus 1")
    return list(range(1, min(found, MAX_GPUS) + 1))


def unit(codec, count):
    word = "GPU" if codec in GPU_CODECS else "thread"
    return f"{count} {word}{'s' * (count != 1)}"


def end_on_terminate():
    """Has SIGTERM end this script as ^C does, so that the program it runs ends with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


# Running the program


def bound_to(cores, count):
    """What binds a command to so many cores for each GPU; nothing for all."""
    if cores is None:
        return []
    usable = sorted(os.sched_getaffinity(0))
    if cores * count > len(usable):
        raise BenchFailed(f"{cores} cores for each of {count} GPUs; this process may use "
                          f"{len(usable)}")
    return ["taskset", "-c", ",".join(map(str, usable[:cores * count]))]


def run_limited(command, seconds):
    """Runs a command in a session of its own, which ends with it. @return status, output, errors"""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    try:
        output, errors = process.communicate(timeout=max(0.1, seconds))
        return process.returncode, output, errors.decode(errors="replace")
    except subprocess.TimeoutExpired:
        raise BenchFailed(f"took longer than {seconds:.0f} s, and was ended") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def why(result, status, errors):
    """Why a run gave no row, in a line."""
    for told in result.get("unavailable", []) + result.get("failed", []):
        where = told.get("input", told["codec"])
        return f"{where}: {told['error']['class']}: {told['error']['message']}"
    last = errors.strip().splitlines()[-1:] or ["it said nothing"]
    return f"ended with {status}: {last[0][:300]}"


def measure(arguments, folder, count, options, seconds):
    """One process of `framewire bench jpeg2jpeg`. @return what it says of itself, its row"""
    devices = (["--device", ",".join(map(str, range(count)))] if arguments.codec in GPU_CODECS else
               ["--threads", str(count)])
    command = [*bound_to(arguments.cores, count), arguments.program, "bench", "jpeg2jpeg", folder, "--json", "--codec",
               arguments.codec, *devices, "--memory", arguments.memory, "--quality",
               str(arguments.quality), *options, *shlex.split(arguments.flags)]
    try:
        status, output, errors = run_limited(command, seconds)
    except OSError as error:
        raise BenchFailed(str(error)) from None
    try:
        result = json.loads(output)
    except ValueError:
        result = {}
    if not result.get("rows"):
        raise BenchFailed(why(result, status, errors))
    row = result["rows"][0]
    if arguments.codec in GPU_CODECS and len(row["devices"]) != count:
        raise BenchFailed(f"asked for {unit(arguments.codec, count)}; the engine has "
                          f"{len(row['devices'])}")
    row["left_out"] = len(result["failed"])
    return {key: result[key] for key in ("framewire", "commit", "compiler", "build_type", "machine",
                                         "options", "timed")}, row


def expected_s(windows, seconds):
    """What a process takes that measures so many windows."""
    return START_S + windows * (seconds + AROUND_WINDOW_S)


def last_window(of):
    """The last of the windows that a process measured: buffers have grown in those before."""
    return of["runs"][-1]


class Runs:
    """Runs the program within a limit for all of them, and keeps what failed."""

    def __init__(self, arguments, total_s):
        self.arguments = arguments
        self.limit_s = arguments.limit or 2 * total_s + 60
        self.deadline = Deadline(self.limit_s)
        self.failed, self.about, self.devices = [], {}, []

    def measure(self, what, folder, count, options, seconds):
        """@param what  {"row": …, "gpus": …, "turn": …}; @param seconds  expected
        @return the row; None where it failed, which is told and kept"""
        text = f"{what['row']}, {unit(self.arguments.codec, count)}, turn {what['turn']}"
        try:
            left = self.deadline.left()
            if left < seconds:
                raise BenchFailed(f"not begun: {max(0, left):.0f} s are left, and it takes "
                                  f"{seconds:.0f}; accepted: a longer --limit")
            about, row = measure(self.arguments, folder, count, options,
                                 min(left, 2 * seconds + 60))
        except BenchFailed as error:
            print(f"FAILED: {text}: {error}", file=sys.stderr, flush=True)
            self.failed.append({**what, "error": str(error)})
            return None
        self.about = self.about or about
        if len(row["devices"]) > len(self.devices):
            self.devices = [device["name"] for device in row["devices"]]
        return row

    def head(self):
        """What a report says of the run."""
        return {"program": {key: self.about.get(key) for key in ("framewire", "commit", "compiler",
                                                                 "build_type")},
                "machine": self.about.get("machine"), "devices": self.devices,
                "settings": settings(self.arguments), "limit_s": self.limit_s}

    def print_head(self, made):
        if not self.about:
            return
        machine, share = self.about["machine"], made["share-0"]
        gpus = "".join(f"; GPU {index} {name}" for index, name in enumerate(self.devices))
        print(f"{machine['cpu']}, {machine['cores']} cores{gpus}; framewire "
              f"{self.about['framewire']} ({self.about['commit']}), {self.arguments.codec}")
        print(f"inputs {self.arguments.input_size}, quality {self.arguments.input_quality}, of "
              f"{made['photographs']} photographs, baseline ones of {share['bytes_min'] / 1e6:.2f} "
              f"to {share['bytes_max'] / 1e6:.2f} MB, in memory of "
              f"{'the engine' if self.arguments.memory == 'engine' else 'the program'}; outputs "
              f"{self.arguments.size}, quality {self.arguments.quality}")

    def note(self, what, error):
        """Tells of something about a row that has figures all the same."""
        print(f"FAILED: {what['row']}, {unit(self.arguments.codec, what['gpus'])}, turn "
              f"{what['turn']}: {error}", file=sys.stderr, flush=True)
        self.failed.append({**what, "error": error})


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def rates(turns):
    """Medians, least and most of windows as the program tells them."""
    names = ("images_per_second", "gigabytes_in_per_second", "megapixels_out_per_second")
    return {name: spread([turn[name] for turn in turns]) for name in names}


def write_json(path, data):
    """Whole or not at all."""
    path = pathlib.Path(path)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def settings(arguments):
    return {name: value for name, value in sorted(vars(arguments).items())
            if isinstance(value, (int, float, str)) and name not in ("json", "work", "out")}


# Inputs


def encode(program, photo, to, size, quality, progressive, deadline):
    """@return whether it could be done"""
    command = [program, "resize", photo, to, "--size", size, "--resize", "fill", "--enlarge",
               "--quality", str(quality), "--sampling", "420", "--always-encode", "--metadata",
               "strip", "--codec", "turbo", "--quiet", *["--progressive"] * progressive]
    try:
        return run_limited(command, min(FILE_TIME_S, deadline.left()))[0] == 0
    except BenchFailed as error:
        print(f"{photo}: {error}", file=sys.stderr)
        return False


def choose_photographs(program, folder, size):
    """Those not smaller than the inputs to be made, where there are any; otherwise all."""
    found = photographs(folder, MAX_PHOTOS)
    sides = [int(side) for side in size.split("x")]
    sizes = list(zip(found, at_once(lambda path: size_of(program, path), found)))
    readable = [path for path, of in sizes if of is not None]
    large = [path for path, of in sizes if of is not None and
             max(of) >= max(sides) and min(of) >= min(sides)]
    if not readable:
        sys.exit(f"{folder}: found no photographs; accepted: a folder with JPEGs of more than 4 KB")
    if not large:
        print(f"all photographs are smaller than {size}: they are enlarged, and so smoother than "
              "photographs are", file=sys.stderr)
    return large or readable


def link(source, to):
    try:
        os.link(source, to)
    except OSError:
        shutil.copyfile(source, to)


def make_shares(folder, names, files):
    """@param names  of the files that folders of either kind hold
    share-0, share-1, …: `files` each, of which so many percent are progressive. What is
    progressive at one share is so at each larger one."""
    order = list(range(files))
    random.Random(1).shuffle(order)
    for share in SHARES:
        progressive = set(order[:files * share // 100])
        (folder / f"share-{share}").mkdir()
        for index in range(files):
            kind = "progressive" if index in progressive else "baseline"
            link(folder / kind / names[index % len(names)],
                 folder / f"share-{share}" / f"{index:05}.jpg")


def make_mix(program, folder, count, deadline):
    script = pathlib.Path(__file__).with_name("make_mix.py")
    try:
        status, _, errors = run_limited(
            [sys.executable, script, program, folder / "photos", folder / "mix", "--count",
             str(count), "--seed", "3"], deadline.left())
    except BenchFailed as error:
        sys.exit(f"the mix: {error}; accepted: a smaller --mix-count")
    if status != 0:
        sys.exit(f"the mix cannot be made: {errors.strip()[-500:]}")
    kinds = json.loads((folder / "mix" / "mix.json").read_text())
    (folder / "mix-baseline").mkdir()
    for name, kind in kinds.items():
        if not kind["progressive"]:
            link(folder / "mix" / name, folder / "mix-baseline" / name)


def describe(folder):
    """Files of a folder of inputs, and their bytes."""
    sizes = [path.stat().st_size for path in folder.glob("*.jpg")]
    if not sizes:
        return {"files": 0}
    return {"files": len(sizes), "bytes_mean": round(statistics.mean(sizes)),
            "bytes_min": min(sizes), "bytes_max": max(sizes)}


def make_inputs(arguments, photos, folder, deadline):
    """@return what each folder holds"""
    program = arguments.program
    for name in ("photos", "baseline", "progressive"):
        (folder / name).mkdir(parents=True)

    def make_both(numbered):
        number, photo = numbered
        return all(encode(program, photo, folder / kind / f"{number:03}.jpg", arguments.input_size,
                          arguments.input_quality, kind == "progressive", deadline)
                   for kind in ("baseline", "progressive"))

    made = []
    for (number, photo), is_made in zip(enumerate(photos), at_once(make_both, enumerate(photos))):
        if is_made:
            made.append(f"{number:03}.jpg")
            os.symlink(photo.resolve(), folder / "photos" / made[-1])
        else:
            print(f"{photo}: left out, since it cannot be encoded anew", file=sys.stderr)
    if not made:
        sys.exit("none of the photographs can be encoded anew")
    make_shares(folder, made, arguments.files)
    make_mix(program, folder, arguments.mix_count, deadline)
    names = [f"share-{share}" for share in SHARES] + ["mix", "mix-baseline"]
    return {"photographs": len(made), **{name: describe(folder / name) for name in names}}


def prepare(arguments, photos, work):
    """Inputs below `work`, made once: those of an earlier run serve again where photographs and
    settings are the same. @return their folder, what it holds"""
    work.mkdir(parents=True, exist_ok=True)
    folder, partial = work / "inputs", work / "inputs.partial"
    with open(work / "inputs.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        chosen = photographs(photos, MAX_PHOTOS)
        wanted = {"version": INPUTS_VERSION, "size": arguments.input_size,
                  "quality": arguments.input_quality, "files": arguments.files,
                  "mix_count": arguments.mix_count,
                  "photographs": [[str(path.resolve()), path.stat().st_size,
                                   path.stat().st_mtime_ns] for path in chosen]}
        if folder.exists():
            try:
                there = json.loads((folder / "inputs.json").read_text())
                if there["wanted"] == wanted:
                    return folder, there["made"]
            except (OSError, ValueError, KeyError, TypeError):
                sys.exit(f"{folder}: is not of this script's making; accepted: another --work")
            shutil.rmtree(folder)
        if partial.exists():
            shutil.rmtree(partial)
        start = time.monotonic()
        print(f"making inputs in {folder}, at most {INPUTS_TIME_S} s", file=sys.stderr, flush=True)
        made = make_inputs(arguments,
                           choose_photographs(arguments.program, photos, arguments.input_size),
                           partial, Deadline(INPUTS_TIME_S))
        write_json(partial / "inputs.json", {"wanted": wanted, "made": made})
        partial.rename(folder)
        print(f"made them in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        return folder, made
