#!/usr/bin/env python3
"""What a second core brings a batch from tar to tar on the CPU: tar_jobs.py PROGRAM SHARD… [--rounds 6]
[-- OPTION…]. By turns it runs `framewire batch` with --jobs 1, with --jobs 2, and two processes with --jobs 1 at
once, each over all shards. Those two share nothing, so that twice the first's wall time by the third's is what a
second core of this machine brings at that time; what other programs take, and what caches and clocks cost, is in
it. Of the two threads of --jobs 2 it tells how long they slept, which is the batch's own loss, and how long they
could have run and had no core, which is the machine's (/proc/PID/task/*/schedstat, ten times a second).

The folder of the first shard is to be on tmpfs: outputs go beside it, and are removed."""

import argparse
import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("shards", nargs="+")
parser.add_argument("--rounds", type=int, default=6)
own, options = sys.argv[1:], ["--size", "480x270", "--quality", "90"]
if "--" in own:
    at = own.index("--")
    own, options = own[:at], own[at + 1:]
given = parser.parse_args(own)


def look(pid, seen):
    """Nanoseconds that each of a batch's threads has run, and has been kept waiting for a core, by its clock."""
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/comm" % (pid, task)) as file:
                if file.read().strip() != "fw-batch":
                    continue
            with open("/proc/%d/task/%s/schedstat" % (pid, task)) as file:
                ran, kept = (int(word) for word in file.read().split()[:2])
        except OSError:
            continue  # ended meanwhile
        seen.setdefault(task, []).append((time.monotonic(), ran * 1e-9, kept * 1e-9))


def shares(seen):
    """What of their time all threads together slept, and were kept from a core."""
    spans = [[last - first for first, last in zip(looks[0], looks[-1])] for looks in seen.values()]
    total = sum(age for age, _, _ in spans)
    kept = sum(kept for _, _, kept in spans) / total
    return max(0.0, 1 - sum(ran for _, ran, _ in spans) / total - kept), kept


def run(processes, jobs, seen=None):
    """@return wall, user and system seconds of all processes"""
    out = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(given.shards[0])))
    try:
        began = time.monotonic()
        children = [subprocess.Popen([given.program, "batch", *given.shards, os.path.join(out, str(i)), "--jobs",
                                      str(jobs), "--json", *options], stdout=subprocess.DEVNULL)
                    for i in range(processes)]
        ends = os.pidfd_open(children[0].pid)
        while seen is not None and not select.select([ends], [], [], 0.1)[0]:
            look(children[0].pid, seen)
        os.close(ends)
        ended = [os.wait4(child.pid, 0) for child in children]
        wall = time.monotonic() - began
        if any(status for _, status, _ in ended):
            sys.exit("tar_jobs: framewire failed")
        return wall, sum(usage.ru_utime for *_, usage in ended), sum(usage.ru_stime for *_, usage in ended)
    finally:
        shutil.rmtree(out)


def told(values, form="%.3f"):
    return ("%s (%s to %s)" % (form, form, form)) % (statistics.median(values), min(values), max(values))


run(1, 2)  # shards into the page cache
waits = []
kinds = {"--jobs 1": (1, 1, []), "--jobs 2": (1, 2, []), "two processes": (2, 1, [])}
for number in range(given.rounds):
    names = list(kinds)
    for name in names[number % 3:] + names[:number % 3]:
        processes, jobs, turns = kinds[name]
        seen = {} if jobs == 2 else None
        turns.append(run(processes, jobs, seen))
        if seen:
            waits.append(shares(seen))
    print("round %d: %s" % (number + 1, ", ".join("%s %.2f s" % (name, turns[-1][0])
                                                  for name, (_, _, turns) in kinds.items())), flush=True)
for name, (_, _, turns) in kinds.items():
    print("%s: wall %s s, user %s s, system %s s" % (name, *(told([t[part] for t in turns], "%.2f")
                                                             for part in range(3))))
one, two, pair = (turns for _, _, turns in kinds.values())
gain = [a[0] / b[0] for a, b in zip(one, two)]
machine = [2 * a[0] / b[0] for a, b in zip(one, pair)]
print("--jobs 2 beside --jobs 1, by wall time: %s times as fast" % told(gain))
print("two processes beside one, by wall time: %s times as fast" % told(machine))
print("--jobs 2 of what two processes reach: " + told([a / b for a, b in zip(gain, machine)]))
print("--jobs 2 beside --jobs 1, by processor time: %s times as much"
      % told([sum(b[1:]) / sum(a[1:]) for a, b in zip(one, two)]))
print("threads of --jobs 2: slept %s %% of their time, had no core %s %%"
      % (told([100 * slept for slept, _ in waits], "%.1f"), told([100 * kept for _, kept in waits], "%.1f")))
