#!/usr/bin/env python3
"""What machines that die at random cost a batch over shards, by simulation: lost_machines.py [--help].

Each machine begins its shards in turn and has --in-work of them begun at any time, evenly far along, as `framewire
batch` has. A machine lives for a time from an exponential distribution; what it had begun is lost with it and done
again, and a successor comes --replace seconds later and needs --start seconds until its first picture. Shards are
shared either by `--shard I/N`, where the successor has the part of the dead (parts), or handed out in groups to
whoever is free, as python -m framewire.ray does, where the rest of a dead machine's group goes back (groups).

Prints a line for each of the two: the time without deaths and with them, deaths, and what was done again. The seed
decides everything. Nothing is measured here: rates are given, and the network and the store are as fast as the
machines."""

import argparse
import heapq
import random
import statistics

parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
parser.add_argument("--pictures", type=float, default=1e9)
parser.add_argument("--shard-pictures", type=float, default=2660)
parser.add_argument("--machines", type=int, default=16)
parser.add_argument("--rate", type=float, default=29900, help="pictures a second and machine")
parser.add_argument("--in-work", type=int, default=4, help="shards that a machine has begun")
parser.add_argument("--life", type=float, default=3600, help="mean seconds until a machine dies")
parser.add_argument("--replace", type=float, default=120)
parser.add_argument("--start", type=float, default=2)
parser.add_argument("--group", type=int, default=4, help="shards that are handed out at once")
parser.add_argument("--runs", type=int, default=20)
parser.add_argument("--seed", type=int, default=1)
given = parser.parse_args()

shards = int(-(-given.pictures // given.shard_pictures))
shard_s = given.shard_pictures / given.rate


def lives(chance):
    """From when to when a machine's successors work."""
    now = 0.0
    while True:
        dies = now + chance.expovariate(1 / given.life)
        yield now + given.start, dies
        now = dies + given.replace


def lost_by(done, left):
    """Work in shards that dies with a machine which has done `done` since it began, of `left` in all."""
    begun = min(given.in_work, left)
    # Evenly far along: begun shards are 1/k, 2/k ... of the way through, and all as far as there was time for.
    return min(done, begun / 2)


def by_parts(chance):
    ends, deaths, again = [], 0, 0.0
    for machine in range(given.machines):
        left = shards // given.machines + (machine < shards % given.machines)
        for begins, dies in lives(chance):
            worked = max(0.0, dies - begins) / shard_s
            if worked >= left:
                ends.append(begins + left * shard_s)
                break
            lost = lost_by(worked, left)
            left -= int(worked - lost)
            again += worked - int(worked - lost)
            deaths += 1
    return max(ends), deaths, again


def by_groups(chance):
    """Machines by the time at which they take their next group."""
    waiting, deaths, again, end = shards, 0, 0.0, 0.0
    machines = [iter(lives(chance)) for _ in range(given.machines)]
    spans = [next(machine) for machine in machines]
    free = [(begins, number) for number, (begins, _) in enumerate(spans)]
    heapq.heapify(free)
    under_way = []  # (when it is known to be lost, shards) of groups that die
    while waiting or under_way:
        now, number = heapq.heappop(free)
        while under_way and (under_way[0][0] <= now or not waiting):
            known, lost = heapq.heappop(under_way)
            waiting, now = waiting + lost, max(now, known)
        if not waiting:
            continue
        begins, dies = spans[number]
        if dies <= now:  # it died while it was free
            spans[number] = next(machines[number])
            heapq.heappush(free, (max(now, spans[number][0]), number))
            deaths += 1
            continue
        group = min(given.group, waiting)
        waiting -= group
        done = now + group * shard_s
        if done <= dies:
            end = max(end, done)
            heapq.heappush(free, (done, number))
            continue
        worked = (dies - now) / shard_s
        whole = int(worked - lost_by(worked, group))
        again += worked - whole
        deaths += 1
        heapq.heappush(under_way, (dies, group - whole))
        spans[number] = next(machines[number])
        heapq.heappush(free, (spans[number][0], number))
    return end, deaths, again


def told(values, form):
    return ("%s (%s to %s)" % (form, form, form)) % (statistics.median(values), min(values), max(values))


undisturbed = given.start + shards * shard_s / given.machines
print("%d shards, %d machines, %.0f pictures a second each: %.0f s undisturbed" % (shards, given.machines, given.rate,
                                                                                  undisturbed))
for name, simulate in (("parts", by_parts), ("groups", by_groups)):
    results = [simulate(random.Random(given.seed + run)) for run in range(given.runs)]
    print("%s: %s s, deaths %s, shards done again %s, which is %.4f %% of all"
          % (name, told([r[0] for r in results], "%.0f"), told([r[1] for r in results], "%.0f"),
             told([r[2] for r in results], "%.1f"), 100 * statistics.median(r[2] for r in results) / shards))
