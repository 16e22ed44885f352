#!/usr/bin/env python3
"""Draws what gpu_sweeps.py measured: rate by share, latency by rate, memory over time.

    gpu_plots.py SWEEPS.json… FOLDER

FOLDER gets, each where one of the reports has its part:

    gpu-rate-by-share.svg       images/s by the share of progressive files; a line a number of GPUs
    gpu-latency-by-rate.svg     p50, p99 and p99.9, ms, by the rate offered; more GPUs dashed
    gpu-memory-over-time.svg    resident, pinned, device memory and caches, MB, by time

What is timed and what is not stands in the head of gpu_sweeps.py; points are medians of its turns.
Nothing is drawn of a part that failed, and no part may be in two reports.
"""

import json
import pathlib
import sys

from line_plot import EvenAxis, Line, LinearAxis, draw, draw_over_time

# By number of GPUs, in the order measured, again from the first on.
GPU_COLORS = ("#2b7de9", "#d9822b", "#5a9e4b", "#7a3e9d")
PERCENTILE_COLORS = {"p50": "#5a9e4b", "p99": "#d9822b", "p99.9": "#c0392b"}
MEMORY = {"resident": ("process", "#2b7de9"), "pinned": ("pinned", "#5a9e4b"),
          "device": ("GPU memory", "#d9822b"), "kept": ("caches", "#7a3e9d")}


class BadReport(Exception):
    """A report that cannot be drawn; the text says which, and why."""


def load(paths):
    """The parts of all reports: {part: (report, what it holds)}."""
    parts = {}
    for path in paths:
        try:
            report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadReport(f"{path}: {error}; accepted: sweeps.json of gpu_sweeps.py") from None
        if not isinstance(report, dict) or report.get("kind") != "gpu_sweeps":
            raise BadReport(f"{path}: found another kind of file; accepted: sweeps.json of "
                            "gpu_sweeps.py")
        for part in ("shares", "rates", "memory"):
            if part in parts and part in report:
                raise BadReport(f"{path}: found {part} in another report, too; accepted: one of them")
            if part in report:
                parts[part] = (report, report[part])
    return parts


def is_on_gpus(report):
    return bool(report["devices"])


def unit(report, count):
    word = "GPU" if is_on_gpus(report) else "thread"
    return f"{count} {word}{'s' * (count != 1)}"


def where(report):
    """On what it was measured, for a title."""
    names = sorted(set(report["devices"])) or [report["machine"]["cpu"]]
    return f"{', '.join(names)}, {report['settings']['codec']}"


def way(report):
    wanted = report["settings"]
    return f"{wanted['input_size']} → {wanted['size']}".replace("x", "×")


def draw_shares(report, rows):
    counts = sorted({row["gpus"] for row in rows})
    lines = []
    for index, count in enumerate(counts):
        points = sorted((row["share"], row["images_per_second"]["median"]) for row in rows
                        if row["gpus"] == count)
        lines.append(Line(unit(report, count), points, GPU_COLORS[index % len(GPU_COLORS)]))
    return draw(lines, f"Images/s, {way(report)}: {where(report)}", "progressive files, %",
                x_axis=EvenAxis, y_axis=LinearAxis)


def draw_rates(report, rows):
    counts = sorted({row["gpus"] for row in rows})
    lines = []
    for index, count in enumerate(counts):
        for name, color in PERCENTILE_COLORS.items():
            points = sorted((row["rate"], row[name]["median"]) for row in rows
                            if row["gpus"] == count and name in row and row[name]["median"] > 0)
            label = name if len(counts) == 1 else f"{name}, {unit(report, count)}"
            if points:
                lines.append(Line(label, points, color, dashed=index > 0))
    if not lines:
        raise BadReport("rates: found no answers; accepted: longer --rate-seconds")
    share = report["settings"]["rate_share"]
    inputs = "baseline files" if share == 0 else f"{share} % progressive files"
    axis = LinearAxis([row["rate"] for row in rows], 0, 1)
    return draw(lines, f"Latency, ms, {way(report)}, {inputs}: {where(report)}",
                "requests a second offered", x_name=axis.name, x_axis=LinearAxis)


def draw_memory(report, memory):
    rows = memory["rows"]
    lines = []
    for name, (label, color) in MEMORY.items():
        points = [(row["s"], row[name] / 1e6) for row in rows]
        if any(mb > 0 for _, mb in points):
            last = points[-1][1]
            lines.append(Line(f"{label} {last:,.0f}" if last >= 1 else f"{label} {last:.2g}",
                              points, color))
    if not lines:
        raise BadReport("memory: found no bytes in any row")
    return draw_over_time(lines, f"Memory, MB, {memory['images']:,} images of a mix: "
                                 f"{unit(report, memory['gpus'])}, {where(report)}")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[-1])
    try:
        parts = load(sys.argv[1:-1])
        if not parts:
            raise BadReport("found nothing measured in these reports")
        folder.mkdir(parents=True, exist_ok=True)
        for part, name, drawn in (("shares", "gpu-rate-by-share.svg", draw_shares),
                                  ("rates", "gpu-latency-by-rate.svg", draw_rates),
                                  ("memory", "gpu-memory-over-time.svg", draw_memory)):
            if part in parts:
                (folder / name).write_text(drawn(*parts[part]), encoding="utf-8")
                print(folder / name)
    except (BadReport, OSError) as error:
        sys.exit(f"gpu_plots.py: {error}")


if __name__ == "__main__":
    main()
