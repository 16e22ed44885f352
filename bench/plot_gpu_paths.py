#!/usr/bin/env python3
"""Draws what gpu_paths.sh has measured between two GPUs, a picture a test: direct paths as lines,
those through the host dashed.

usage: plot_gpu_paths.py RUN.json FOLDER. Writes FOLDER/gpu-latency.svg, gpu-bw.svg, gpu-bibw.svg.
"""

import json
import sys

from line_plot import Line
from plot_transport import TITLES, write_picture

NAMES = {
    "one-process": ("one process", "#2b7de9"),
    "peer": ("peer", "#5a9e4b"),
    "peer-stream": ("peer-stream", "#7a3e9d"),
    "shared": ("shared", "#d9822b"),
    "ucx-shared": ("ucx-shared", "#d9822b"),
    "stream": ("stream", "#888888"),
}


def line_of(result):
    label, color = NAMES[result["run"]]
    points = [(row["size_bytes"], row["average"]) for row in result["rows"]]
    return Line(label, points, color, result["staged_bytes"] > 0)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        run = json.load(file)
    devices = ", ".join(sorted(set(run["devices"]))) or "no GPU"
    for test, title in TITLES.items():
        lines = [line_of(r) for r in run["results"] if r["test"] == test]
        write_picture(f"{sys.argv[2]}/gpu-{test}.svg",
                      f"{title}; GPU to GPU, {devices}; dashed: through the host", lines)


if __name__ == "__main__":
    main()
