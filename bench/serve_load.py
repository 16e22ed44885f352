#!/usr/bin/env python3
"""Latency of `framewire serve` under a constant rate: at a part of its capacity, and beyond it.

First wrk, with requests as fast as they are answered, finds the capacity. Then requests leave by the
clock, whether earlier ones have been answered or not, and a latency counts from the moment at which
the request was due: a server that stalls cannot keep the client from noticing (no coordinated
omission). They come from processes of their own, each with its share of the rate and as many
connections as it needs, up to a bound. The clients tell how late they were themselves: where that is
not far below the latencies measured, the client's cores are too slow, and a warning says so.
"""

import argparse
import asyncio
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from serve_bench import (Client, Gone, corpus, get, machine, make_inputs, on_core, percentile,
                         photographs, start_framewire, table, write_json)

PICTURES = 32
# Names for them: equal requests at one time would be computed once.
FILES = 8192
OPTIONS = "/unsafe/rs:force:480:270/q:80/plain/"
REQUEST_TIME_S = 30

WRK = """
local at = 0
function request() at = (at + 1) % {files}; return wrk.format("GET", "{before}" .. at .. ".jpg") end
"""


def capacity(args, server, work):
    script = work / "wrk.lua"
    script.write_text(WRK.format(files=FILES, before=OPTIONS))
    ran = subprocess.run(
        [*on_core(args.client_cores), "wrk", "-t1", "-c64", f"-d{args.seconds}s", "--timeout",
         "30s", "-s", str(script), f"http://127.0.0.1:{server.port}/"],
        capture_output=True, text=True, check=True)
    if "Non-2xx" in ran.stdout or "Socket errors" in ran.stdout:
        sys.exit(f"the capacity cannot be told:\n{ran.stdout}")
    return float(re.search(r"Requests/sec:\s+(\S+)", ran.stdout).group(1))


async def generate(port, rate, seconds, first, connections):
    """Sends by the clock. @return {"rows": [(due, status, latency_ms)], "late_ms": […]}
    status 0: the connection ended; −1: no connection was left; −2: no answer in time."""
    idle, rows, late_ms, waiting, count = [], [], [], set(), 0
    names = int(first * FILES)  # each process has its own
    start = time.monotonic() + 0.5

    async def ask(client, target, due):
        try:
            status = (await asyncio.wait_for(client.ask(get(target)), REQUEST_TIME_S))[0]
        except (Gone, OSError):
            status = 0
        except asyncio.TimeoutError:
            status = -2
            client.close()
        rows.append((due - start, status, (time.monotonic() - due) * 1000))
        idle.append(client)

    for index in range(int(rate * seconds)):
        due = start + (index + first) / rate
        delay = due - time.monotonic()
        if delay > 0:
            await asyncio.sleep(delay)
        elif index % 64 == 0:
            await asyncio.sleep(0)  # answers are read also where the clock is behind
        late_ms.append(max(0.0, time.monotonic() - due) * 1000)
        if not idle and count < connections:
            count += 1
            idle.append(Client(port))
        if not idle:
            rows.append((due - start, -1, 0.0))
            continue
        task = asyncio.create_task(ask(idle.pop(), f"{OPTIONS}{(names + index) % FILES}.jpg", due))
        waiting.add(task)
        task.add_done_callback(waiting.discard)
    if waiting:
        await asyncio.wait(waiting)
    return {"rows": rows, "late_ms": late_ms}


def offer(args, server, rate):
    """Offers a rate with all processes of clients. @return what they saw, and the server's memory"""
    share = rate / args.processes
    running = [subprocess.Popen(
        [*on_core(args.client_cores), sys.executable, __file__, "--generate",
         json.dumps([server.port, share, args.seconds, index / args.processes,
                     args.connections // args.processes])], stdout=subprocess.PIPE)
        for index in range(args.processes)]
    seen = {"rows": [], "late_ms": []}
    for process in running:
        out = json.loads(process.communicate()[0])
        for name, values in out.items():
            seen[name] += values
    seen["rss_bytes"] = server.rss_bytes()
    return seen


def report(name, rate, seen, seconds):
    good = [row[2] for row in seen["rows"] if row[1] == 200]
    refused = [row[2] for row in seen["rows"] if row[1] in (429, 503)]
    statuses = collections.Counter(row[1] for row in seen["rows"])
    late = percentile(seen["late_ms"], 0.99)
    result = {
        "name": name, "offered": rate, "answered": len(good) / seconds,
        "p50_ms": percentile(good, 0.5), "p99_ms": percentile(good, 0.99),
        "p999_ms": percentile(good, 0.999), "refused_p99_ms": percentile(refused, 0.99),
        "statuses": dict(statuses), "client_late_p99_ms": late, "rss_bytes": seen["rss_bytes"]}
    if late > max(1.0, 0.2 * result["p99_ms"]):
        print(f"warning: {name}: clients were {late:.1f} ms late themselves (p99); "
              "give them more cores", file=sys.stderr)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, nargs="?", help="framewire, a release build")
    parser.add_argument("--photos", help="a folder; FRAMEWIRE_CORPUS otherwise")
    parser.add_argument("--seconds", type=int, default=60, help="of each part")
    parser.add_argument("--part", type=int, default=80, help="percent of the capacity")
    parser.add_argument("--overload", type=int, default=2000, help="requests a second")
    parser.add_argument("--server-cores", default=None, help="as taskset has them: 0-3")
    parser.add_argument("--client-cores", default=None)
    parser.add_argument("--processes", type=int, default=2, help="of clients")
    parser.add_argument("--connections", type=int, default=2000, help="at most, of all clients")
    parser.add_argument("--flags", default="", help="of framewire serve: \"--queue 64\"")
    parser.add_argument("--json", help="write all figures there")
    parser.add_argument("--quick", action="store_true", help="three seconds each")
    parser.add_argument("--generate", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.generate:
        json.dump(asyncio.run(generate(*json.loads(args.generate))), sys.stdout)
        return
    if args.program is None:
        parser.error("say which program to measure")
    if args.quick:
        args.seconds = 3
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "photos").mkdir()
        make_inputs(args.program.resolve(), photographs(corpus(args.photos), 4 * PICTURES),
                    work / "photos", PICTURES, "1920x1080")
        for index in range(PICTURES, FILES):
            os.link(work / f"photos/{index % PICTURES}.jpg", work / f"photos/{index}.jpg")
        with open(work / "server.log", "ab") as log:
            # All connections are of one address here, which a service in the open would bound.
            server = start_framewire(args.program.resolve(), work / "photos", log, args.server_cores,
                                     ["--client-share", "100", *args.flags.split()])
            try:
                most = capacity(args, server, work)
                rate = most * args.part / 100
                results = [report(f"{args.part} % of capacity", rate, offer(args, server, rate),
                                  args.seconds)]
                results.append(report("overload", float(args.overload),
                                      offer(args, server, args.overload), args.seconds))
                results.append(report(f"{args.part} % again", rate, offer(args, server, rate),
                                      args.seconds))
            finally:
                status = server.stop()
    print(f"capacity, by wrk with 64 connections: {most:,.0f} pictures/s")
    table(["1920×1080 → 480×270", "offered/s", "answered/s", "p50 ms", "p99 ms", "p99.9 ms",
           "refused p99", "late p99", "MB", "statuses"],
          [[r["name"], r["offered"], r["answered"], r["p50_ms"], r["p99_ms"], r["p999_ms"],
            r["refused_p99_ms"], r["client_late_p99_ms"], r["rss_bytes"] / 1e6,
            " ".join(f"{k}:{v}" for k, v in sorted(r["statuses"].items()))] for r in results])
    write_json(args.json, {"machine": machine(args.program), "capacity": most, "parts": results})
    if status != 0:
        sys.exit(f"the server ended with {status}")


if __name__ == "__main__":
    main()
