#!/usr/bin/env python3
"""Compares `framewire perf` with ucx_perftest, size by size, by turns, on the same two cores.

Each turn runs one program after the other, server on the first core and client on the second, with
as many messages on their way. Neither waits for all of them before it goes on. Latency is the median half round trip that each program reports; bandwidth
its average over all that it sent. Figures are medians over the turns; a ratio is the median of the
turns' ratios.
"""

import argparse
import json
import os
import platform
import re
import socket
import statistics
import subprocess
import sys

# What our link is, and what makes ucx_perftest take the same lanes and watch for the peer's end.
LINKS = {
    "ucx-shared": {"UCX_TLS": "posix,cma", "UCX_MM_ERROR_HANDLING": "y"},
    "ucx-tcp": {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo"},
}
# Its active messages leave a small payload where UCX has received it; its tagged messages end up in
# a buffer of the receiver's, as ours do.
PEERS = {"am": "ucp_am", "tag": "tag"}
SUFFIX = {"latency": "_lat", "bw": "_bw"}  # it has no test both ways
TARGETS = {"latency": 1.15, "bw": 0.9}


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="framewire of a release build")
    parser.add_argument("--links", default="ucx-shared,ucx-tcp")
    parser.add_argument("--tests", default="latency,bw,bibw")
    parser.add_argument("--sizes", default="1,8,64,256,1K,4K,8K,16K,64K,256K,1M,4M")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--window", type=int, default=64, help="messages on their way, in both")
    parser.add_argument("--cores", default="0,1", help="of server and client")
    parser.add_argument("--nice", type=int, default=0, help="of both programs")
    parser.add_argument("--realtime", type=int, default=0, metavar="PRIORITY",
                        help="over shared memory, run both programs before all others; over TCP "
                             "threads of the kernel's have a part in the work")
    parser.add_argument("--json", help="write the figures to this file")
    return parser.parse_args()


def bytes_of(text):
    units = {"K": 10, "M": 20}
    return int(text[:-1]) << units[text[-1]] if text[-1] in units else int(text)


def rounds_of(test, size):
    """How many messages, or windows, a run takes: some tenths of a second for most sizes."""
    if test == "latency":
        return max(200, min(20_000, (256 << 20) // (size + 4096)))
    return max(8, min(2000, (64 << 20) // (size + 1024)))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Pair:
    """Starts a server, waits until it listens, runs the client, and takes its output."""

    def __init__(self, options, link):
        self.cores = options.cores.split(",")
        before = ["nice", "-n", str(options.nice)]
        if options.realtime > 0 and link == "ucx-shared":
            before = ["chrt", "-f", str(options.realtime)]
        self.before = [*before, "taskset", "-c"]

    def command(self, core, words):
        return [*self.before, self.cores[core], *words]

    def run(self, server, client, environment, port):
        environment = {**os.environ, **environment}
        serving = subprocess.Popen(self.command(0, server), env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for_listener(port, serving)
            done = subprocess.run(self.command(1, client), env=environment, capture_output=True,
                                  text=True, timeout=60, check=False)
            if done.returncode != 0:
                sys.exit(f"{' '.join(client)}: {done.stderr or done.stdout}")
            serving.wait(timeout=20)
            return done.stdout
        finally:
            if serving.poll() is None:
                serving.kill()
                serving.wait()


def wait_for_listener(port, process):
    """Without connecting: ucx_perftest takes the first connection for its client."""
    wanted = re.compile(rf"^\s*\d+: \S+:{port:04X} \S+ 0A ", re.MULTILINE)
    for _ in range(2000):
        for path in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(path, encoding="ascii") as file:
                if wanted.search(file.read()):
                    return
        if process.poll() is not None:
            break
        subprocess.run(["sleep", "0.005"], check=True)
    sys.exit("a server did not come up")


def ours(options, pair, link, test, size):
    port = free_port()
    words = [options.program, "perf", test]
    common = ["--insecure", "--link", link]
    if link == "ucx-tcp":
        common += ["--interface", "lo"]
    rounds = str(rounds_of(test, size))
    out = pair.run([*words, "--server", f"127.0.0.1:{port}", *common],
                   [*words, f"127.0.0.1:{port}", *common, "--json", "--sizes", str(size),
                    "--window", str(options.window), "--continuous", "--iterations", rounds], {}, port)
    row = json.loads(out)["rows"][0]
    return row["p50"] if test == "latency" else row["average"]


def theirs(options, pair, link, test, size, peer):
    port = free_port()
    rounds = rounds_of(test, size)
    words = ["-t", PEERS[peer] + SUFFIX[test], "-p", str(port), "-e"]
    client = ["127.0.0.1", "-s", str(size), "-f"]
    if test == "bw":
        rounds *= options.window
        client += ["-O", str(options.window)]
    client += ["-n", str(rounds), "-w", str(rounds // 10 + 1)]
    out = pair.run(["ucx_perftest", *words], ["ucx_perftest", *client, *words], LINKS[link], port)
    # Iterations, percentile, then average and overall microseconds of a message.
    fields = out.strip().splitlines()[-1].split()
    return float(fields[1]) if test == "latency" else size / float(fields[3])


def row_of(size, runs):
    """@param runs  of each turn, framewire's figure and those of PEERS"""
    row = {"size_bytes": size, "framewire": statistics.median(run["framewire"] for run in runs)}
    for peer in (peer for peer in PEERS if peer in runs[0]):
        ratios = sorted(run["framewire"] / run[peer] for run in runs)
        row[peer] = statistics.median(run[peer] for run in runs)
        row[f"ratio_{peer}"] = statistics.median(ratios)
        row[f"ratios_{peer}"] = [ratios[0], ratios[-1]]
    return row


def measure(options, link, test):
    pair = Pair(options, link)
    peers = PEERS if test in SUFFIX else {}
    rows = []
    digits = 2 if test == "latency" else 0
    print(f"# {link} {test} ({'us' if test == 'latency' else 'MB/s'})\n"
          f"{'size':>9}{'framewire':>12}"
          + "".join(f"{peer:>12}{'ratio':>7}" for peer in peers.values()))
    for size in map(bytes_of, options.sizes.split(",")):
        runs = []
        for _ in range(options.pairs):
            run = {"framewire": ours(options, pair, link, test, size)}
            run.update({peer: theirs(options, pair, link, test, size, peer) for peer in peers})
            runs.append(run)
        row = row_of(size, runs)
        rows.append(row)
        print(f"{size:>9}{row['framewire']:>12.{digits}f}"
              + "".join(f"{row[p]:>12.{digits}f}{row['ratio_' + p]:>7.2f}" for p in peers),
              flush=True)
    return {"link": link, "test": test, "unit": "us" if test == "latency" else "MB/s",
            "target_ratio": TARGETS.get(test), "rows": rows}


def first_line(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0].strip("# ") if done.stdout else "unknown"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    return {"cpu": model.group(1) if model else "unknown", "cores": os.cpu_count(),
            "kernel": platform.release(), "load": [round(x, 2) for x in os.getloadavg()]}


def main():
    options = parse()
    if options.pairs < 1:
        sys.exit("--pairs takes 1 or more")
    results = [measure(options, link, test) for link in options.links.split(",")
               for test in options.tests.split(",")]
    if options.json:
        whole = {"machine": machine(), "ucx": first_line("ucx_info", "-v"),
                 "framewire": first_line(options.program, "version"),
                 "command": " ".join(["bench/transport_vs_ucx.py", *sys.argv[1:]]),
                 "pairs": options.pairs, "window": options.window, "results": results}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(whole, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
