#!/usr/bin/env python3
"""Measures what the three plots of gpu_plots.py show, on the GPUs of a host.

    gpu_sweeps.py PROGRAM PHOTOS OUT [--only shares,rates,memory] [--gpus 1,2] [--seconds S]
                  [--rate-seconds S] [--memory-seconds S] [--repeat N] [--limit S]
    gpu_plots.py OUT/sweeps.json FOLDER

    shares  images/s where 0, 1, 3, 10, 30 and 100 % of the files are progressive
    rates   p50, p99 and p99.9 of latency at rates offered, parts of what the engine can
    memory  of the process and the GPUs, each second, for --memory-seconds (an hour, if not given)

Shares and numbers of GPUs take turns, and so do rates; medians, least and most of the turns are
kept. Each measurement is a process of its own. Memory is looked at once, on as many GPUs as --gpus
says at most, in one engine, while requests of the mix (make_mix.py) are handed in as fast as they
are taken, all to one width and then each with a width, crop and quality of its own, by turns of a
minute or less.

Timed: images/s as gpus.py times them: host bytes to host bytes, in the second window of a process.
Latencies: from the moment at which a request was due, by a Poisson process, to its answer; requests
due in the first two seconds (or the first half of a shorter run), in which memory grows and kernels
are loaded, are not counted. p99 needs 100 answers in each turn, p99.9 needs 1,000; with fewer it is
left out, and told.
Not timed: making and reading inputs, starting the program and the engine, verifying.

The rates are --percent of images/s measured first with the same inputs, or --rates. Requests of
that part are all the same, of files of which --rate-share percent are progressive. Where the sender
itself was late by more than the p99, this is told: then one thread cannot send so many, or the
engine had no room.

Figures go to OUT/sweeps.json, anew after each measurement, so that a script that is ended leaves
what it has measured; inputs lie in --work (OUT, if not given), are made once and serve again. The
time that it takes at most is told first, and kept: what would not end by then is not begun, and
told. On the CPU (--codec turbo) --gpus counts host threads instead.
"""

import argparse
import pathlib
import statistics
import sys

import gpu_bench

PARTS = ("shares", "rates", "memory")
WINDOWS = 2
CAPACITY_WINDOWS = 3
# Least answers for a percentile to be one and not the maximum.
LEAST_ANSWERS = {"p50": 1, "p99": 100, "p99.9": 1000}
MEMORY_WINDOW_S = 60
MAX_RATE = 1_000_000


def throughput(arguments, seconds, windows):
    return ["--size", arguments.size, "--resize", "force", "--parts", "throughput", "--seconds",
            f"{seconds:g}", "--repeat", str(windows)]


class Sweeps:
    def __init__(self, arguments, counts, inputs, made):
        self.arguments, self.counts, self.inputs, self.made = arguments, counts, inputs, made
        self.runs = gpu_bench.Runs(arguments, self.expected())
        self.turns = {}  # of shares: {(share, count): [window]}
        self.capacities = {}
        self.offered = {}  # {(count, rate): [open loop]}
        self.memory = None

    # What each part measures, and how long that takes.

    def memory_windows(self):
        """@return seconds of a window, how many pairs of them"""
        seconds = self.arguments.memory_seconds
        window = min(MEMORY_WINDOW_S, seconds / 2)
        return window, max(1, round(seconds / 2 / window))

    def share_s(self):
        return gpu_bench.expected_s(WINDOWS, self.arguments.seconds)

    def capacity_s(self):
        return gpu_bench.expected_s(CAPACITY_WINDOWS, self.arguments.seconds)

    def rate_s(self):
        return gpu_bench.expected_s(1, self.arguments.rate_seconds)

    def memory_s(self):
        window, pairs = self.memory_windows()
        return gpu_bench.expected_s(2 * pairs, window)

    def rate_count(self):
        return len(self.arguments.rates or self.arguments.percent)

    def expected(self):
        arguments, many = self.arguments, len(self.counts)
        each = {"shares": arguments.repeat * len(gpu_bench.SHARES) * many * self.share_s(),
                "rates": many * (arguments.repeat * self.rate_count() * self.rate_s() +
                                 (arguments.rates is None) * self.capacity_s()),
                "memory": self.memory_s()}
        return sum(each[part] for part in arguments.only)

    # Measuring

    def say(self, what, text):
        print(f"{what['row']}, {gpu_bench.unit(self.arguments.codec, what['gpus'])}, turn "
              f"{what['turn']}: {text}", file=sys.stderr, flush=True)

    def window(self, what, share, windows, seconds):
        """@return the windows of one process; none where it failed"""
        row = self.runs.measure(what, self.inputs / f"share-{share}", what["gpus"],
                                throughput(self.arguments, self.arguments.seconds, windows), seconds)
        if row is None:
            return []
        if row["failures"]:
            self.runs.note(what, f"{row['failures']} requests failed")
        return row["runs"]

    def measure_shares(self):
        for turn in range(1, self.arguments.repeat + 1):
            for share in gpu_bench.SHARES:
                for count in self.counts:
                    what = {"row": f"{share} % progressive", "gpus": count, "turn": turn}
                    windows = self.window(what, share, WINDOWS, self.share_s())
                    if windows:
                        self.turns.setdefault((share, count), []).append(windows[-1])
                        self.say(what, f"{windows[-1]['images_per_second']:,.0f} images/s")
                    self.write()

    def rates_of(self, count):
        """Rates to offer to so many GPUs; none where what they can is not known."""
        if self.arguments.rates is not None:
            return {rate: None for rate in self.arguments.rates}
        what = {"row": "what can be offered", "gpus": count, "turn": 1}
        windows = self.window(what, self.arguments.rate_share, CAPACITY_WINDOWS, self.capacity_s())
        rate = statistics.median([w["images_per_second"] for w in windows[1:]] or [0])
        if rate <= 0:
            if windows:
                self.runs.note(what, "no image was answered in a window; accepted: longer --seconds")
            return {}
        self.say(what, f"{rate:,.0f} images/s")
        self.capacities[count] = rate
        # What the program takes, and in steps that a reader can read.
        return {min(MAX_RATE, max(0.1, float(f"{rate * percent / 100:.3g}"))): percent
                for percent in self.arguments.percent}

    def measure_rates(self):
        rates = {count: self.rates_of(count) for count in self.counts}
        for turn in range(1, self.arguments.repeat + 1):
            for count in self.counts:
                for rate, percent in rates[count].items():
                    self.measure_rate(count, rate, percent, turn)
                    self.write()

    def measure_rate(self, count, rate, percent, turn):
        what = {"row": f"{rate:,.10g} requests/s", "gpus": count, "turn": turn}
        options = ["--size", self.arguments.size, "--resize", "force", "--parts", "none", "--rate",
                   f"{rate:.10g}", "--seconds", f"{self.arguments.rate_seconds:g}", "--seed",
                   str(turn)]
        row = self.runs.measure(what, self.inputs / f"share-{self.arguments.rate_share}", count,
                                options, self.rate_s())
        if row is None:
            return
        found = row["open_loop"]
        if found["failures"]:
            self.runs.note(what, f"{found['failures']} requests failed")
        later = found["later"]
        late = found["sent_late_ms"]
        self.offered.setdefault((count, rate), []).append(
            {"percent": percent, "answers": later["answers"], "sent_late_ms": late,
             **{name: later[name] for name in LEAST_ANSWERS}})
        self.say(what, f"p50 {later['p50']:.2f}, p99 {later['p99']:.2f}, p99.9 "
                 f"{later['p99.9']:.2f} ms of {later['answers']} answers" +
                 (f"; the sender was late by up to {late:.1f} ms" if late > later["p99"] else ""))

    def measure_memory(self):
        count = max(self.counts)
        window, pairs = self.memory_windows()
        what = {"row": "memory", "gpus": count, "turn": 1}
        options = ["--size", self.arguments.size.split("x")[0] + "x", "--vary",
                   "width,crop,quality", "--parts", "throughput", "--memory-over-time", "--seconds",
                   f"{window:g}", "--repeat", str(pairs)]
        row = self.runs.measure(what, self.inputs / "mix", count, options, self.memory_s())
        if row is None:
            return
        failures = row["failures"] + row["varied"]["failures"]
        if failures:
            self.runs.note(what, f"{failures} requests failed")
        images = sum(run["images_per_second"] for of in (row, row["varied"])
                     for run in of["runs"]) * window
        self.memory = {"gpus": count, "window_s": window, "images": round(images),
                       "left_out": row["left_out"], "failures": failures,
                       "images_per_second": gpu_bench.rates(row["runs"])["images_per_second"],
                       "varied_images_per_second":
                           gpu_bench.rates(row["varied"]["runs"])["images_per_second"],
                       "rows": row["memory_over_time"]}
        self.say(what, f"{len(self.memory['rows'])} looks, {self.memory['images']:,} images")
        self.write()

    # The report

    def share_rows(self):
        return [{"share": share, "gpus": count, **gpu_bench.rates(turns)}
                for (share, count), turns in self.turns.items()]

    def rate_rows(self):
        rows = []
        for (count, rate), turns in self.offered.items():
            answers = min(turn["answers"] for turn in turns)
            row = {"gpus": count, "rate": rate, "percent": turns[0]["percent"],
                   "answers_least": answers,
                   "sent_late_ms": max(turn["sent_late_ms"] for turn in turns)}
            for name, least in LEAST_ANSWERS.items():
                if answers >= least:
                    row[name] = gpu_bench.spread([turn[name] for turn in turns])
            rows.append(row)
        return rows

    def write(self):
        report = {"kind": "gpu_sweeps", **self.runs.head(), "inputs": self.made,
                  "failed": self.runs.failed}
        if self.turns:
            report["shares"] = self.share_rows()
        if self.offered:
            report["capacities"] = [{"gpus": count, "images_per_second": rate}
                                    for count, rate in self.capacities.items()]
            report["rates"] = self.rate_rows()
        if self.memory:
            report["memory"] = self.memory
        gpu_bench.write_json(self.arguments.out / "sweeps.json", report)

    def measure(self):
        for part in self.arguments.only:
            {"shares": self.measure_shares, "rates": self.measure_rates,
             "memory": self.measure_memory}[part]()
        self.write()

    def tell_too_few(self):
        for row in self.rate_rows():
            missing = [name for name in LEAST_ANSWERS if name not in row]
            if missing:
                print(f"{row['rate']:,.10g} requests/s: {row['answers_least']} answers are too few "
                      f"for {' and '.join(missing)}; accepted: longer --rate-seconds",
                      file=sys.stderr)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="framewire, a release build")
    parser.add_argument("photos", type=pathlib.Path, help="a folder of photographs")
    parser.add_argument("out", type=pathlib.Path, help="a folder for sweeps.json")
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR",
                        help="where inputs are made and kept; OUT, if not given")
    parser.add_argument("--only", type=gpu_bench.words(PARTS), default=list(PARTS),
                        help="shares, rates, memory, joined by commas; all, if not given")
    parser.add_argument("--rate-seconds", type=gpu_bench.number(0.1, 3600, float), default=8.0,
                        help="in which requests of one rate are due")
    parser.add_argument("--percent", type=gpu_bench.numbers(1, 200), metavar="LIST",
                        default=[10, 25, 50, 70, 80, 90], help="rates, of what the engine can")
    parser.add_argument("--rates", type=gpu_bench.numbers(0.1, MAX_RATE, float), metavar="LIST",
                        help="requests a second, instead")
    parser.add_argument("--rate-share", type=int, choices=gpu_bench.SHARES, default=0,
                        help="percent of progressive files while rates are offered")
    parser.add_argument("--memory-seconds", type=gpu_bench.number(0.2, 86400, float), default=3600.0,
                        help="over which memory is looked at")
    gpu_bench.add_arguments(parser)
    return parser.parse_args()


def main():
    arguments = read_arguments()
    gpu_bench.end_on_terminate()
    arguments.program = gpu_bench.resolve_program(arguments.program)
    counts = gpu_bench.choose_counts(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    inputs, made = gpu_bench.prepare(arguments, arguments.photos, arguments.work or arguments.out)
    sweeps = Sweeps(arguments, counts, inputs, made)
    print(f"{', '.join(arguments.only)}: about {sweeps.expected():.0f} s, at most "
          f"{sweeps.runs.limit_s:.0f} s", file=sys.stderr, flush=True)
    sweeps.measure()
    sweeps.tell_too_few()
    if sweeps.runs.failed:
        sys.exit(f"{len(sweeps.runs.failed)} failed, see above")


if __name__ == "__main__":
    main()
