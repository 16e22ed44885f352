#!/usr/bin/env python3
"""From process to process on one machine, without GPUs: Framewire, gloo and MPI.

usage: interop_cpu.py PROGRAM [--rounds 5] [--link shared] [--json FILE]

Half a round trip of one message between two processes, in host memory: of `framewire perf latency`, of
torch.distributed's send() and recv() by gloo, and of MPI's by mpi4py. Then one broadcast from rank 0 to two and
three processes, by gloo and by MPI; a broadcast counts from a barrier until the last rank has it. Peers take
turns; a figure is the median of the rounds, each of which is the median of its messages, with the
lowest and the highest round. Sizes: 4 KiB, a decoded frame of 1920x1080 (3,110,400 bytes), 64 MiB. Where
others use the processors, a round has fewer messages, so that it ends in time.

Needs numpy, torch for gloo, and mpi4py and mpirun for MPI; a peer that is not there is left out, and
named. As root, Open MPI wants OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, which
this script sets.
"""

import argparse
import faulthandler
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = {"4 KiB": 4096, "a frame, 3.1 MB": 1920 * 1080 * 3 // 2, "64 MiB": 64 << 20}
# Messages of a round: enough for a median, and less than a second each on a machine of one's own.
COUNTS = {4096: 1000, 1920 * 1080 * 3 // 2: 100, 64 << 20: 9}
#: About as long may one size's messages take; at least MIN_MESSAGES are measured.
SIZE_SECONDS = 10.0
MIN_MESSAGES = 5
#: After that a job has failed: its ranks say where they stand, and are ended.
JOB_SECONDS = 240.0


def warm(size):
    """Messages that go before: as many as framewire perf has go, and 5 at least."""
    return max(5, COUNTS[size] // 10)


def affordable(size, seconds):
    """How many messages are measured, where those of warm(size) took `seconds`."""
    return max(MIN_MESSAGES, min(COUNTS[size], int(SIZE_SECONDS / (seconds / warm(size)))))


class Gloo:
    """torch.distributed, as the ranks of one job use it."""

    def __init__(self):
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        # By a file: a port that is free now may be another's when rank 0 listens.
        dist.init_process_group("gloo", init_method=os.environ["INTEROP_MEETING"],
                                rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
        self.torch, self.dist, self.rank = torch, dist, dist.get_rank()
        self.memory = {size: torch.full((size,), self.rank, dtype=torch.uint8) for size in COUNTS}
        self.barrier = dist.barrier
        self.close = dist.destroy_process_group

    def send(self, size, to):
        self.dist.send(self.memory[size], to)

    def receive(self, size, source):
        self.dist.recv(self.memory[size], source)

    def broadcast(self, size):
        self.dist.broadcast(self.memory[size], 0)

    def latest(self, seconds):
        value = self.torch.tensor([seconds], dtype=self.torch.float64)
        self.dist.all_reduce(value, self.dist.ReduceOp.MAX)
        return value.item()


class Mpi:
    """mpi4py on NumPy's arrays, which copies nothing."""

    def __init__(self):
        import numpy
        from mpi4py import MPI

        self.mpi, self.world = MPI, MPI.COMM_WORLD
        self.rank = self.world.Get_rank()
        self.memory = {size: numpy.full(size, self.rank, numpy.uint8) for size in COUNTS}
        self.barrier = self.world.Barrier
        self.close = self.world.Barrier

    def send(self, size, to):
        self.world.Send(self.memory[size], to)

    def receive(self, size, source):
        self.world.Recv(self.memory[size], source)

    def broadcast(self, size):
        self.world.Bcast(self.memory[size], 0)

    def latest(self, seconds):
        return self.world.allreduce(seconds, self.mpi.MAX)


def ping_pong(peer, size):
    """Half a round trip between ranks 0 and 1, in seconds."""
    began = time.perf_counter()
    if peer.rank == 0:
        peer.send(size, 1)
        peer.receive(size, 1)
    else:
        peer.receive(size, 0)
        peer.send(size, 0)
    return (time.perf_counter() - began) / 2


def broadcast(peer, size):
    """Until the last rank has what rank 0 sends, in seconds."""
    peer.barrier()
    began = time.perf_counter()
    peer.broadcast(size)
    return peer.latest(time.perf_counter() - began)


def median(peer, message, size):
    """Of the messages of one size, in microseconds."""
    began = time.perf_counter()
    for _ in range(warm(size)):
        message(peer, size)
    # The ranks agree on a number, by who was slowest.
    count = affordable(size, peer.latest(time.perf_counter() - began))
    times = [message(peer, size) for _ in range(count)]
    return statistics.median(times) * 1e6


def work(kind, what):
    """One rank of a job: rank 0 prints the figures."""
    faulthandler.dump_traceback_later(JOB_SECONDS - 10, exit=True)
    peer = {"gloo": Gloo, "MPI": Mpi}[kind]()
    message = {"message": ping_pong, "broadcast": broadcast}[what]
    figures = {size: median(peer, message, size) for size in COUNTS}
    if what == "broadcast":
        assert all(int(memory[-1]) == 0 for memory in peer.memory.values()), "not rank 0's bytes"
    if peer.rank == 0:
        print(json.dumps(figures), flush=True)
    peer.barrier()  # gloo aborts where a rank is gone that another still waits for
    peer.close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def ranks(kind, count, what):
    """Starts a job of `count` ranks and returns its figures, microseconds of each size."""
    command = [sys.executable, __file__, "--work", kind, what]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if kind == "MPI":
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        ran = subprocess.run(["mpirun", "--oversubscribe", "-n", str(count), *command], check=True, text=True,
                             stdout=subprocess.PIPE, env=environment, timeout=JOB_SECONDS)
        return as_figures(ran.stdout)
    with tempfile.TemporaryDirectory() as folder:
        # All ranks are on this machine, whatever its name leads to.
        environment |= {"GLOO_SOCKET_IFNAME": "lo", "WORLD_SIZE": str(count),
                        "INTEROP_MEETING": f"file://{folder}/ranks"}
        processes = [subprocess.Popen(command, env={**environment, "RANK": str(rank)}, text=True,
                                      stdout=subprocess.PIPE) for rank in range(count)]
        wait_for(kind, processes)
        return as_figures(processes[0].stdout.read())


def wait_for(kind, processes):
    """Returns once all ranks of a job have ended well; one that fails ends the others, which wait for it."""
    end = time.monotonic() + JOB_SECONDS
    try:
        while any(process.poll() is None for process in processes):
            if any(process.returncode for process in processes) or time.monotonic() > end:
                break
            time.sleep(0.05)
        for rank, process in enumerate(processes):
            if process.poll():
                sys.exit(f"{kind}: rank {rank} ended with {process.returncode}")
        for rank, process in enumerate(processes):
            if process.poll() is None:
                sys.exit(f"{kind}: rank {rank} did not end within {JOB_SECONDS:.0f} s")
    finally:
        for process in processes:
            process.kill()
            process.wait()


def as_figures(text):
    return {int(size): value for size, value in json.loads(text.splitlines()[-1]).items()}


def framewire(program, link):
    """Half a round trip of `framewire perf latency`, microseconds of each size."""
    figures = {}
    for size, count in COUNTS.items():
        address = f"127.0.0.1:{free_port()}"
        common = ["--insecure", "--link", link]
        server = subprocess.Popen([program, "perf", "latency", "--server", address, *common],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            ran = perf_client(program, address, size, count, common)
            server.wait(60)
        finally:
            server.kill()
        figures[size] = ran
    return figures


def perf_client(program, address, size, count, common):
    command = [program, "perf", "latency", address, *common, "--sizes", f"{size}:{size}",
               "--iterations", str(count), "--json"]
    for _ in range(50):  # the server may not listen yet
        ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if ran.returncode == 0:
            (row,) = json.loads(ran.stdout)["rows"]
            assert row["size_bytes"] == size
            return row["p50"]
        time.sleep(0.1)
    sys.exit(f"{program}: {ran.stderr.strip()}")


def find_peers(program, link):
    """What can be measured here: {(what, peer): its measurement}."""
    peers = {("message", f"Framewire, {link}"): lambda: framewire(program, link)}
    for kind, modules, tool in (("gloo", ["torch"], None), ("MPI", ["numpy", "mpi4py.MPI"], "mpirun")):
        check = "; ".join(f"import {module}" for module in modules)
        ran = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
        if ran.returncode != 0 or (tool and not shutil.which(tool)):
            why = ran.stderr.strip().splitlines()[-1:] or [f"no {tool}"]
            print(f"left out: {kind}: {why[0]}", file=sys.stderr)
            continue
        peers["message", kind] = lambda kind=kind: ranks(kind, 2, "message")
        for count in (2, 3):
            peers[f"broadcast to {count}", kind] = (
                lambda kind=kind, count=count: ranks(kind, count, "broadcast"))
    return peers


def cpu_model():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), "unknown")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--link", default="shared", help="of framewire perf")
    parser.add_argument("--json", help="write the figures there, too")
    options = parser.parse_args()
    peers = find_peers(options.program, options.link)
    figures = {key: {size: [] for size in COUNTS} for key in peers}
    for _ in range(options.rounds):
        for key, measure in peers.items():
            for size, value in measure().items():
                figures[key][size].append(value)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{cpu_model()}, {os.cpu_count()} cores, load {load}; {options.rounds} rounds; µs")
    print("| what | by | " + " | ".join(SIZES) + " |\n|---|---|" + "---|" * len(SIZES))
    for (what, peer), sizes in figures.items():
        cells = [f"{statistics.median(values):,.1f} ({min(values):,.1f} to {max(values):,.1f})"
                 for values in sizes.values()]
        print(f"| {what} | {peer} | " + " | ".join(cells) + " |")
    if options.json:
        rows = [{"what": what, "by": peer, "us": sizes} for (what, peer), sizes in figures.items()]
        document = {"cpu": cpu_model(), "cores": os.cpu_count(), "load": os.getloadavg(), "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:4])
    else:
        main()
