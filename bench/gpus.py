#!/usr/bin/env python3
"""Images a second over 1 to N GPUs of a host: the rows of docs/benchmarks/gpu.md that matter most.

    gpus.py PROGRAM PHOTOS --work DIR [--gpus 1,2] [--seconds S] [--repeat N] [--json FILE]

    alike         photographs of one size, all requests the same
    varied        each request with a size, crop and quality of its own
    mix           files of 0.1 to 24 megapixels, a third progressive (make_mix.py), to one width
    mix-baseline  the files of the mix that are not progressive
    tenth         photographs of one size, one in ten progressive
    progressive   photographs of one size, all progressive

Rows and numbers of GPUs take turns: each turn starts the program anew for each row and number, and
the median of the turns counts; least and most stand beside it.

Timed: from the input's bytes in host memory to the output's bytes in host memory, of requests that
two threads a GPU hand in without waiting; images that are answered in a window of --seconds, the
last of its process.
Not timed: making and reading inputs, starting the program and the engine, trying each input once
and checking its output, the windows before, in which buffers grow and kernels are loaded (one, and
three of what has progressive files), and the time until the queue has filled.

So that a host's cores grow with its GPUs, --cores binds each process to so many for each GPU.

GB/s are those of JPEG in, megapixels those of pictures out. The ratio is that to one GPU, of
medians of this run. Inputs lie in DIR/inputs, are made once, and serve again for the same
photographs and settings; progressive files and baseline ones are of the same pictures and quality.
The time that it takes at most is told first. Rows that fail are told, and make the exit code 1; the
others are measured all the same. On the CPU (--codec turbo) --gpus counts host threads instead.

In Python, not a shell script, for the arithmetic of medians and for reports in JSON.
"""

import argparse
import pathlib
import sys

import gpu_bench

# Folder of inputs, options, which of the program's figures count, and windows.
ROWS = {
    "alike": ("share-0", "box", None, 2),
    "varied": ("share-0", "box", "varied", 2),
    "mix": ("mix", "width", None, 4),
    "mix-baseline": ("mix-baseline", "width", None, 2),
    "tenth": ("share-10", "box", None, 4),
    "progressive": ("share-100", "box", None, 4),
}


def options_of(name, arguments):
    """Of the program, for one row."""
    _, size, part, windows = ROWS[name]
    options = ["--parts", "throughput", "--seconds", str(arguments.seconds), "--repeat",
               str(windows)]
    if size == "box":
        options += ["--size", arguments.size, "--resize", "force"]
    else:
        options += ["--size", arguments.size.split("x")[0] + "x"]
    return options + ["--vary", "size,crop,quality"] * (part == "varied")


def windows_of(name):
    """The program measures requests that are alike beside those that vary."""
    return ROWS[name][3] * (2 if ROWS[name][2] == "varied" else 1)


def one_turn(runs, name, count, turn, inputs, arguments):
    """@return the window that counts, and what else the row tells; None where it failed"""
    folder, _, part, _ = ROWS[name]
    what = {"row": name, "gpus": count, "turn": turn}
    row = runs.measure(what, inputs / folder, count, options_of(name, arguments),
                       gpu_bench.expected_s(windows_of(name), arguments.seconds))
    if row is None:
        return None
    of = row[part] if part else row
    if of["failures"]:
        runs.note(what, f"{of['failures']} requests failed; what was answered is counted")
    window = gpu_bench.last_window(of)
    print(f"{name}, {gpu_bench.unit(arguments.codec, count)}, turn {turn}: "
          f"{window['images_per_second']:,.0f} images/s", file=sys.stderr, flush=True)
    return {**window, "failures": of["failures"], "fallbacks": row["fallbacks"],
            "left_out": row["left_out"], "gpu_bytes": row["gpu_bytes"],
            "resident_bytes": row["resident_bytes"]}


def summarize(turns):
    """Rows of the report, in the order of the table. @param turns  {(name, count): [turn]}"""
    rows = []
    for (name, count), of in turns.items():
        if not of:
            continue
        row = {"row": name, "gpus": count, **gpu_bench.rates(of), "turns": of}
        one = turns.get((name, 1))
        if one:
            base = gpu_bench.rates(one)["images_per_second"]["median"]
            row["ratio_to_one"] = row["images_per_second"]["median"] / base if base else None
        rows.append(row)
    return rows


def print_table(rows, codec):
    head = ["", "GPUs" if codec in gpu_bench.GPU_CODECS else "threads", "images/s", "least", "most",
            "GB/s in", "megapixels/s out", "of one"]
    texts = [head]
    for row in rows:
        rate = row["images_per_second"]
        ratio = row.get("ratio_to_one")
        texts.append([row["row"], str(row["gpus"]),
                      *[f"{rate[key]:,.0f}" for key in ("median", "min", "max")],
                      f"{row['gigabytes_in_per_second']['median']:.2f}",
                      f"{row['megapixels_out_per_second']['median']:,.0f}",
                      "-" if ratio is None else f"{ratio:.2f}"])
    widths = [max(len(row[i]) for row in texts) for i in range(len(head))]
    for row in texts:
        print("  ".join(t.ljust(w) if i == 0 else t.rjust(w)
                        for i, (t, w) in enumerate(zip(row, widths))))
    for row in rows:
        last = row["turns"][-1]
        if last["fallbacks"]:
            print(f"{row['row']}, {row['gpus']}: the CPU did {last['fallbacks']} images of the last "
                  "turn")
        if last["left_out"]:
            print(f"{row['row']}, {row['gpus']}: {last['left_out']} inputs left out, since the codec "
                  "does not take them")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="framewire, a release build")
    parser.add_argument("photos", type=pathlib.Path, help="a folder of photographs")
    parser.add_argument("--work", type=pathlib.Path, required=True, metavar="DIR",
                        help="where inputs are made and kept: a fast disk, or /dev/shm")
    parser.add_argument("--rows", type=gpu_bench.words(list(ROWS)), default=list(ROWS),
                        help="of the rows above, joined by commas; all, if not given")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="write the report there, anew after each measurement")
    gpu_bench.add_arguments(parser)
    arguments = parser.parse_args()
    if arguments.json and not arguments.json.absolute().parent.is_dir():
        parser.error(f"--json: found no folder {arguments.json.absolute().parent}")
    return arguments


def main():
    arguments = read_arguments()
    gpu_bench.end_on_terminate()
    arguments.program = gpu_bench.resolve_program(arguments.program)
    counts = gpu_bench.choose_counts(arguments)
    inputs, made = gpu_bench.prepare(arguments, arguments.photos, arguments.work)
    expected = arguments.repeat * len(counts) * sum(
        gpu_bench.expected_s(windows_of(name), arguments.seconds) for name in arguments.rows)
    runs = gpu_bench.Runs(arguments, expected)
    print(f"{arguments.repeat * len(counts) * len(arguments.rows)} processes: about {expected:.0f} s,"
          f" at most {runs.limit_s:.0f} s", file=sys.stderr, flush=True)
    turns = {(name, count): [] for name in arguments.rows for count in counts}
    for turn in range(1, arguments.repeat + 1):
        for name, count in turns:
            found = one_turn(runs, name, count, turn, inputs, arguments)
            if found is not None:
                turns[name, count].append(found)
            if arguments.json:
                gpu_bench.write_json(arguments.json, {
                    **runs.head(), "timed": runs.about.get("timed"), "inputs": made,
                    "rows": summarize(turns), "failed": runs.failed})
    runs.print_head(made)
    print_table(summarize(turns), arguments.codec)
    if runs.failed:
        sys.exit(f"{len(runs.failed)} failed, see above")


if __name__ == "__main__":
    main()
