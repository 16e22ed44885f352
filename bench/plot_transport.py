#!/usr/bin/env python3
"""Draws what transport_vs_ucx.py has measured against message size, a picture a test.

usage: plot_transport.py RUN.json… FOLDER. Writes FOLDER/transport-latency.svg, transport-bw.svg and
transport-bibw.svg, as far as the runs have them; of the same link and test the last run counts.
"""

import json
import re
import sys

from line_plot import Line, draw

COLORS = {"shared": "#2b7de9", "ucx-shared": "#2b7de9", "ucx-tcp": "#d9822b"}
TITLES = {
    "latency": "Half a round trip, µs",
    "bw": "One way, MB/s",
    "bibw": "Both ways together, MB/s",
}


def size_name(count):
    for unit, shift in (("Mi", 20), ("Ki", 10)):
        if count >= 1 << shift:
            return f"{count >> shift} {unit}"
    return str(count)


def lines_of(results):
    for result in results:
        rows, color = result["rows"], COLORS[result["link"]]
        yield Line(result["link"], [(r["size_bytes"], r["framewire"]) for r in rows], color)
        if "am" in rows[0]:
            yield Line("ucx_perftest", [(r["size_bytes"], r["am"]) for r in rows], color, True)


def write_picture(path, title, lines):
    if not lines:
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(draw(lines, title, "bytes of a message", 2, size_name))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    *paths, folder = sys.argv[1:]
    results, run = {}, {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
        results.update({(r["test"], r["link"]): r for r in run["results"]})
    version = re.search(r"[\d.]+", run["ucx"]).group()
    for test, title in TITLES.items():
        lines = list(lines_of(r for (name, _), r in sorted(results.items()) if name == test))
        write_picture(f"{folder}/transport-{test}.svg",
                      f"{title}; two processes, {run['machine']['cpu']}; UCX {version}", lines)


if __name__ == "__main__":
    main()
