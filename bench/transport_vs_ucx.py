#!/usr/bin/env python3
"""Compares `framewire perf` with ucx_perftest, size by size, by turns, on the same two cores; and,
with --old, with an earlier framewire.

Each turn runs one program after the other, server on the first core and client on the second, with
as many messages on their way. Neither waits for all of them before it goes on. Latency is the median
half round trip that each program reports; bandwidth its average over all that it sent. Figures are
medians over the turns; a ratio is the median of the turns' ratios.

Needs Python alone. For a machine without network, `--pack FOLDER` puts the programs there with every
library that they load and this script; there run `python3 FOLDER/transport_vs_ucx.py --packed …`.
"""

import argparse
import json
import os
import platform
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time

# What our link is, and what makes ucx_perftest take the same lanes and watch for the peer's end.
LINKS = {
    "shared": {"UCX_TLS": "posix,cma", "UCX_MM_ERROR_HANDLING": "y"},
    "ucx-tcp": {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo"},
}
# What links were called before, in the order in which an old program is asked for them.
OLD_NAMES = {"shared": ["shared", "ucx-shared"], "ucx-tcp": ["ucx-tcp"]}
# Its active messages leave a small payload where UCX has received it; its tagged messages end up in
# a buffer of the receiver's, as ours do.
PEERS = {"am": "ucp_am", "tag": "tag"}
SUFFIX = {"latency": "_lat", "bw": "_bw"}  # it has no test both ways
TARGETS = {"latency": 1.15, "bw": 0.9}


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", help="framewire of a release build")
    parser.add_argument("--old", metavar="PROGRAM", help="an earlier framewire, to compare with")
    parser.add_argument("--packed", action="store_true",
                        help="take programs and libraries from this script's own folder")
    parser.add_argument("--pack", metavar="FOLDER", help="only make such a folder")
    parser.add_argument("--links", default="shared,ucx-tcp")
    parser.add_argument("--tests", default="latency,bw,bibw")
    parser.add_argument("--sizes", default="1,64,1K,8K,64K,256K,1M,4M,16M,64M,256M")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--window", type=int, default=64,
                        help="messages on their way, in both; fewer where they are long")
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


def window_of(options, size):
    """Of 256 MiB, but four messages at least."""
    return min(options.window, max(4, (256 << 20) // size))


def rounds_of(test, size, window):
    """How many messages, or windows, a run takes: some tenths of a second for most sizes."""
    if test == "latency":
        return max(8, min(20_000, (512 << 20) // (size + 4096)))
    return max(3, min(2000, (4 << 30) // (window * (size + 1024))))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Programs:
    """Where the programs are, and how they are started."""

    def __init__(self, options):
        here = pathlib.Path(__file__).resolve().parent
        self.environment = dict(os.environ)
        self.loader = []
        self.framewire, self.old, self.perftest = options.program, options.old, "ucx_perftest"
        if options.packed:
            self.framewire, self.perftest = here / "framewire", here / "ucx_perftest"
            self.old = here / "old" if (here / "old").exists() else None
            self.loader = [here / "lib" / "ld.so", "--library-path", here / "lib"]
            self.environment["UCX_MODULE_DIR"] = str(here / "lib" / "ucx")

    def words(self, words):
        return [str(word) for word in [*self.loader, *words]]


def pack(options):
    """Copies programs, the libraries that they load, and those that UCX looks for by itself."""
    folder = pathlib.Path(options.pack)
    (folder / "lib" / "ucx").mkdir(parents=True, exist_ok=True)
    perftest = shutil.which("ucx_perftest")
    found = [options.program, options.old, perftest]
    for source, name in zip(found, ("framewire", "old", "ucx_perftest")):
        if source:
            shutil.copy(source, folder / name)
    linked = subprocess.run(["ldd", perftest], capture_output=True, text=True, check=True).stdout
    libraries = pathlib.Path(re.search(r"=> (\S+)/libucp", linked).group(1))
    modules = [*libraries.glob("ucx/*.so.0"), libraries / "libucp.so.0"]
    for source in modules:
        shutil.copy(source, folder / "lib" / ("ucx" if source.parent.name == "ucx" else "") /
                    source.name)
    for source in [*filter(None, found), *modules]:
        out = subprocess.run(["ldd", str(source)], capture_output=True, text=True, check=True)
        for path in re.findall(r"(/\S+) \(0x", out.stdout):
            name = "ld.so" if "/ld-linux" in path else os.path.basename(path)
            shutil.copy(path, folder / "lib" / name)
    shutil.copy(__file__, folder)
    print(f"packed into {folder}; there: python3 {folder}/transport_vs_ucx.py --packed")


class Pair:
    """Starts a server, waits until it listens, runs the client, and takes its output."""

    def __init__(self, options, programs, link):
        self.programs = programs
        self.cores = [int(core) for core in options.cores.split(",")]
        self.nice = options.nice
        self.realtime = options.realtime if link == "shared" else 0

    def place(self, core):
        """What a program does before it begins."""
        os.sched_setaffinity(0, {self.cores[core]})
        if self.realtime > 0:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(self.realtime))
        elif self.nice != 0:
            os.nice(self.nice)

    def run(self, server, client, environment, port):
        environment = {**self.programs.environment, **environment}
        serving = subprocess.Popen(self.programs.words(server), env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   preexec_fn=lambda: self.place(0))
        try:
            wait_for_listener(port, serving)
            done = subprocess.run(self.programs.words(client), env=environment, text=True,
                                  capture_output=True, timeout=300, check=False,
                                  preexec_fn=lambda: self.place(1))
            if done.returncode != 0:
                sys.exit(f"{' '.join(map(str, client))}: {done.stderr or done.stdout}")
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
        time.sleep(0.005)
    sys.exit("a server did not come up")


def ours(options, pair, program, link, test, size):
    port = free_port()
    window = window_of(options, size)
    words = [program, "perf", test]
    common = ["--insecure", "--link", link]
    if link == "ucx-tcp":
        common += ["--interface", "lo"]
    out = pair.run([*words, "--server", f"127.0.0.1:{port}", *common],
                   [*words, f"127.0.0.1:{port}", *common, "--json", "--sizes", str(size),
                    "--window", str(window), "--continuous", "--iterations",
                    str(rounds_of(test, size, window))], {}, port)
    row = json.loads(out)["rows"][0]
    return row["p50"] if test == "latency" else row["average"]


def theirs(options, pair, link, test, size, peer):
    port = free_port()
    window = window_of(options, size)
    rounds = rounds_of(test, size, window)
    words = ["-t", PEERS[peer] + SUFFIX[test], "-p", str(port), "-e"]
    client = ["127.0.0.1", "-s", str(size), "-f"]
    if test == "bw":
        rounds *= window
        client += ["-O", str(window)]
    client += ["-n", str(rounds), "-w", str(rounds // 10 + 1)]
    program = pair.programs.perftest
    out = pair.run([program, *words], [program, *client, *words], LINKS[link], port)
    # Iterations, percentile, then average and overall microseconds of a message.
    fields = out.strip().splitlines()[-1].split()
    return float(fields[1]) if test == "latency" else size / float(fields[3])


def old_name(program, link, programs):
    """What the old program calls the link."""
    for name in OLD_NAMES[link]:
        words = programs.words([program, "perf", "bw", "127.0.0.1:1", "--insecure", "--link", name])
        done = subprocess.run(words, capture_output=True, text=True, check=False,
                              env=programs.environment)
        if "no link is called" not in done.stderr and "--link" not in done.stderr:
            return name
    sys.exit(f"{program} knows no link {link}")


def row_of(size, runs):
    """@param runs  of each turn, framewire's figure and those of what it is compared with"""
    row = {"size_bytes": size, "framewire": statistics.median(run["framewire"] for run in runs)}
    for peer in (peer for peer in runs[0] if peer != "framewire"):
        ratios = sorted(run["framewire"] / run[peer] for run in runs)
        row[peer] = statistics.median(run[peer] for run in runs)
        row[f"ratio_{peer}"] = statistics.median(ratios)
        row[f"ratios_{peer}"] = [ratios[0], ratios[-1]]
    return row


def measure(options, programs, link, test):
    pair = Pair(options, programs, link)
    peers = list(PEERS) if test in SUFFIX else []
    titles = [PEERS[peer] for peer in peers]
    if programs.old:
        called = old_name(programs.old, link, programs)
        peers, titles = ["old", *peers], ["old", *titles]
    rows = []
    digits = 2 if test == "latency" else 0
    print(f"# {link} {test} ({'us' if test == 'latency' else 'MB/s'})\n"
          f"{'size':>9}{'framewire':>12}" + "".join(f"{t:>12}{'ratio':>7}" for t in titles))
    for size in map(bytes_of, options.sizes.split(",")):
        runs = []
        for _ in range(options.pairs):
            run = {"framewire": ours(options, pair, programs.framewire, link, test, size)}
            for peer in peers:
                run[peer] = (ours(options, pair, programs.old, called, test, size)
                             if peer == "old" else theirs(options, pair, link, test, size, peer))
            runs.append(run)
        row = row_of(size, runs)
        rows.append(row)
        print(f"{size:>9}{row['framewire']:>12.{digits}f}"
              + "".join(f"{row[p]:>12.{digits}f}{row['ratio_' + p]:>7.2f}" for p in peers),
              flush=True)
    return {"link": link, "test": test, "unit": "us" if test == "latency" else "MB/s",
            "target_ratio": TARGETS.get(test), "rows": rows}


def first_line(programs, *words):
    done = subprocess.run(programs.words(words), capture_output=True, text=True, check=False,
                          env=programs.environment)
    return done.stdout.splitlines()[0].strip("# ") if done.stdout else "unknown"


def ucx_version(programs):
    """As ucx_perftest's library says."""
    library = programs.loader[2] / "libucp.so.0" if programs.loader else "libucp.so.0"
    ask = ("import ctypes, sys; f = ctypes.CDLL(sys.argv[1]).ucp_get_version_string; "
           "f.restype = ctypes.c_char_p; print(f().decode())")
    environment = dict(programs.environment)
    if programs.loader:
        environment["LD_LIBRARY_PATH"] = str(programs.loader[2])
    done = subprocess.run([sys.executable, "-c", ask, str(library)], capture_output=True, text=True,
                          check=False, env=environment)
    return done.stdout.strip() or "unknown"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    return {"cpu": model.group(1) if model else "unknown", "cores": os.cpu_count(),
            "kernel": platform.release(), "load": [round(x, 2) for x in os.getloadavg()]}


def main():
    options = parse()
    if options.pairs < 1:
        sys.exit("--pairs takes 1 or more")
    if options.pack:
        pack(options)
        return
    if not options.program and not options.packed:
        sys.exit("which framewire? --help says more")
    programs = Programs(options)
    results = [measure(options, programs, link, test) for link in options.links.split(",")
               for test in options.tests.split(",")]
    if options.json:
        whole = {"machine": machine(), "ucx": ucx_version(programs),
                 "framewire": first_line(programs, programs.framewire, "version"),
                 "command": " ".join(["bench/transport_vs_ucx.py", *sys.argv[1:]]),
                 "old": first_line(programs, programs.old, "version") if programs.old else None,
                 "pairs": options.pairs, "window": options.window, "results": results}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(whole, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
