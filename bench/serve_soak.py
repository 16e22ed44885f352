#!/usr/bin/env python3
"""Mixed traffic at full load against `framewire serve`, for hours if asked, with checks.

Clients fetch pictures of all kinds from FRAMEWIRE_CORPUS (sizes, crops, quality, progressive,
profiles), send pictures, ask again with ETags, ask for what is not there and for what is damaged,
send no HTTP, vanish in the middle, send and read slowly. With --tls they speak TLS, and h2load asks
for pictures over HTTP/2 beside them; with --origin a web server has the originals, which many
requests name by its URL. Every few seconds a row of OUT.csv has memory, of the service's process and
of its workers, latencies and statuses; OUT.svg draws it; OUT.log has the server's lines of
requests that were refused or failed. It fails where
  - a status comes that is none by design (500, 502, 504, or 4xx for what is in order),
  - an answer does not come, or comes in part, to a client that behaves,
  - equal requests have answers of different bytes,
  - memory grows: the last quarter's median is 20 % above that of the second quarter,
  - the server does not end in order.
"""

import argparse
import asyncio
import collections
import csv
import hashlib
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from line_plot import Line, draw_over_time
from serve_bench import (Client, Gone, Server, corpus, free_port, get, make_certificate, percentile,
                         photographs, post, start_framewire)

# What a URL may ask for, and what bodies may; each works for every photograph.
URL_OPTIONS = ["rs:fit:480:0", "rs:fill:300:300", "rs:force:64:64", "rs:fit:1200:1200/q:60",
               "c:0.5:0.5/w:200", "w:320/dpr:2", "fq:jpg:95/w:240", "w:240/sm:0", "rot:90/w:100",
               "h:150/sh:0.7", "rs:fill:200:100/g:noea/bg:255:0:0"]
BODY_OPTIONS = ["size=200x", "size=128x128&resize=fill", "size=640x&quality=70",
                "size=100x&progressive=true"]
REQUEST_TIME_S = 60
FILES = 60


class Figures:
    """What has happened since the last row, and every failure."""

    def __init__(self):
        self.latencies_ms, self.statuses = [], collections.Counter()
        self.kinds = collections.Counter()
        self.failures, self.hashes, self.total = collections.Counter(), {}, 0

    def answered(self, kind, status, latency_ms, accepted):
        """@param latency_ms  None where the client's own slowness is most of it"""
        if latency_ms is not None:
            self.latencies_ms.append(latency_ms)
        self.statuses[status] += 1
        self.kinds[kind] += 1
        self.total += 1
        # Full load is allowed to say so.
        if status not in accepted and status not in (429, 503):
            self.fail(f"{kind}: status {status}")

    def fail(self, what):
        if self.failures[what] == 0:
            print(f"FAILURE: {what}", file=sys.stderr, flush=True)
        self.failures[what] += 1

    def compare(self, key, body):
        found = hashlib.sha256(body).digest()
        if self.hashes.setdefault(key, found) != found:
            self.fail(f"other bytes than before for {key}")


class Traffic:
    def __init__(self, port, files, damaged, figures, seed, origin):
        """@param origin  the beginning of URLs of the same files; empty where there is none"""
        self.port, self.files, self.damaged, self.figures = port, files, damaged, figures
        self.origin = origin
        self.random = random.Random(seed)
        self.names = sorted(files)
        self.conditions = {}  # under which a URL was answered before
        # (weight, what it does)
        self.kinds = [(40, self.fetch), (20, self.send), (10, self.ask_again), (6, self.unknown),
                      (8, self.fetch_damaged), (4, self.send_damaged), (5, self.vanish),
                      (3, self.send_nonsense)]
        self.slow_kinds = [(1, self.send_slowly), (1, self.read_slowly)]

    async def one(self, client, kinds):
        weights, actions = zip(*kinds)
        action = self.random.choices(actions, weights)[0]
        try:
            await asyncio.wait_for(action(client), REQUEST_TIME_S)
        except asyncio.TimeoutError:
            client.close()
            self.figures.fail(f"{action.__name__}: no answer in {REQUEST_TIME_S} s")
        except (Gone, OSError) as error:
            client.close()
            self.figures.fail(f"{action.__name__}: the connection ended ({type(error).__name__})")

    async def timed(self, kind, client, request, accepted):
        start = time.monotonic()
        answer = await client.ask(request)
        self.figures.answered(kind, answer[0], (time.monotonic() - start) * 1000, accepted)
        return answer

    def url(self, names):
        options, name = self.random.choice(URL_OPTIONS), self.random.choice(names)
        if self.random.random() < 0.3:  # a size that hardly anybody else asks for
            options += f"/w:{self.random.randrange(16, 600)}"
        return f"/unsafe/{options}/plain/{self.random.choice(['', self.origin])}{name}"

    async def fetch(self, client):
        url = self.url(self.names)
        status, fields, body = await self.timed("fetch", client, get(url), {200})
        if status == 200:
            self.figures.compare(url, body)
            if "etag" in fields:
                self.conditions[url] = f"If-None-Match: {fields['etag']}\r\n"
            elif "last-modified" in fields:
                self.conditions[url] = f"If-Modified-Since: {fields['last-modified']}\r\n"

    async def send(self, client):
        name, options = self.random.choice(self.names), self.random.choice(BODY_OPTIONS)
        request = post(f"/v1/resize?{options}", self.files[name])
        status, _, body = await self.timed("send", client, request, {200})
        if status == 200:
            self.figures.compare(f"POST {options} {name}", body)

    async def ask_again(self, client):
        if not self.conditions:
            return
        url = self.random.choice(list(self.conditions))
        await self.timed("ask again", client, get(url, self.conditions[url]), {304})

    async def unknown(self, client):
        target, accepted = self.random.choice(
            [("/unsafe/w:1/plain/none.jpg", {404}), ("/v1/nothing", {404}), ("/favicon.ico", {404}),
             ("/unsafe/nonsense:1/plain/a.jpg", {404}), ("/unsafe/w:1/plain/../../etc/passwd", {404}),
             ("/livez", {200}), ("/v1/options", {200})])
        await self.timed("unknown", client, get(target), accepted)

    async def fetch_damaged(self, client):
        await self.timed("damaged", client, get(self.url(sorted(self.damaged))), {200, 422})

    async def send_damaged(self, client):
        body = self.damaged[self.random.choice(sorted(self.damaged))]
        await self.timed("damaged", client, post("/v1/resize?size=90x", body), {200, 422})

    async def vanish(self, _):
        """Ends anywhere between the first byte and the answer."""
        client = Client(self.port)
        body = self.files[self.random.choice(self.names)]
        request = self.random.choice([get(self.url(self.names)), post("/v1/resize?size=99x", body)])
        await client.send(request[:self.random.randrange(1, len(request) + 1)])
        await asyncio.sleep(self.random.random() * 0.05)
        client.close()
        self.figures.kinds["vanish"] += 1

    async def send_slowly(self, _):
        client = Client(self.port)
        body = self.files[self.random.choice(self.names)]
        request = post("/v1/resize?size=50x", body)
        step = max(1, len(request) // 20)
        try:
            for at in range(0, len(request), step):
                await client.send(request[at:at + step])
                await asyncio.sleep(0.1)
        except Gone:  # refused before it had sent all
            pass
        if client.reader is not None:
            # 503: its time in memory that others share has passed.
            status, _, _ = await client.receive()
            self.figures.answered("send slowly", status, None, {200})
        client.close()

    async def read_slowly(self, _):
        client = Client(self.port)
        name = self.random.choice(self.names)
        await client.send(get(f"/unsafe/rs:fit:2000:2000/q:95/plain/{name}"))
        for _ in range(20):
            if not await client.reader.read(4096):
                break
            await asyncio.sleep(0.05)
        client.close()
        self.figures.kinds["read slowly"] += 1

    async def send_nonsense(self, _):
        client = Client(self.port)
        start = time.monotonic()
        await client.send(self.random.randbytes(self.random.randrange(16, 400)) + b"\r\n\r\n")
        status, _, _ = await client.receive()
        self.figures.answered("nonsense", status, (time.monotonic() - start) * 1000,
                              {400, 414, 431, 501, 505})
        client.close()


# Memory that processes share counts in each of their resident sizes; own_mb leaves it out.
COLUMNS = ["seconds", "requests_per_s", "p50_ms", "p99_ms", "max_ms", "rss_mb", "own_mb", "front_mb",
           "workers_mb", "processes"]
STATUSES = [200, 304, 400, 404, 422, 429, 503, "other"]


async def sample(server, figures, seconds, interval, writer, rows):
    start = last = time.monotonic()
    while last - start < seconds:
        await asyncio.sleep(interval)
        now = time.monotonic()
        if server.process.poll() is not None:
            figures.fail(f"the server has ended: {server.process.returncode}")
            return
        latencies, figures.latencies_ms = figures.latencies_ms, []
        statuses, figures.statuses = figures.statuses, collections.Counter()
        memory = server.memory_of_each()
        sizes = [resident for resident, _ in memory]
        known = {str(s): statuses.pop(s, 0) for s in STATUSES if s != "other"}
        row = {"seconds": round(now - start, 1),
               "requests_per_s": round(len(latencies) / (now - last), 1),
               "p50_ms": round(percentile(latencies, 0.5), 3),
               "p99_ms": round(percentile(latencies, 0.99), 3),
               "max_ms": round(max(latencies, default=math.nan), 3),
               "rss_mb": round(sum(sizes) / 1e6, 1), "own_mb": round(sum(own for _, own in memory) / 1e6, 1),
               "front_mb": round(sum(sizes[:1]) / 1e6, 1),
               "workers_mb": round(sum(sizes[1:]) / 1e6, 1), "processes": len(sizes), **known,
               "other": sum(statuses.values())}
        writer.writerow(row)
        rows.append(row)
        print(" ".join(f"{name}={row[name]}" for name in COLUMNS), flush=True)
        last = now


async def soak(args, server, files, damaged, figures, writer, origin):
    rows = []
    traffic = Traffic(server.port, files, damaged, figures, args.seed, origin)
    ended = asyncio.Event()

    async def client(kinds):
        connection = Client(server.port)
        while not ended.is_set():
            await traffic.one(connection, kinds)
        connection.close()

    clients = [asyncio.create_task(client(traffic.kinds)) for _ in range(args.clients)]
    # Beside the others, which keep the load up.
    clients += [asyncio.create_task(client(traffic.slow_kinds)) for _ in range(args.clients // 4)]
    await sample(server, figures, args.seconds, args.interval, writer, rows)
    ended.set()
    await asyncio.wait(clients, timeout=2 * REQUEST_TIME_S)
    return rows


# As `python -m http.server`, which lets five wait to be accepted: others try again a second later.
ORIGIN = """
import functools, http.server, sys
http.server.ThreadingHTTPServer.request_queue_size = 512
http.server.SimpleHTTPRequestHandler.log_message = lambda *_: None
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), handler).serve_forever()
"""


def start_origin(folder, log):
    port = free_port()
    return Server([sys.executable, "-c", ORIGIN, str(folder), str(port)], port, log)


class Http2Load:
    """h2load, which asks for pictures over HTTP/2 all the while."""

    def __init__(self, args, port, files, origin, folder):
        urls = folder / "urls.txt"
        dice = random.Random(args.seed)
        urls.write_text("".join(
            f"https://127.0.0.1:{port}/unsafe/{dice.choice(URL_OPTIONS)}/w:{dice.randrange(16, 600)}"
            f"/plain/{dice.choice(['', origin])}{name}\n"
            for name in sorted(files) for _ in range(40)))
        self.process = subprocess.Popen(
            ["h2load", "-D", str(round(args.seconds)), "-c", "4", "-m", "4", "-t", "1", "-i",
             str(urls)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self, figures):
        """Full load may be refused: h2load counts 429 and 503 as 4xx and 5xx."""
        try:
            out, _ = self.process.communicate(timeout=REQUEST_TIME_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, _ = self.process.communicate()
            figures.fail("h2load did not end")
        told = [line for line in out.splitlines()
                if line.startswith(("requests:", "status codes:", "Application protocol:"))]
        print("h2load: " + "; ".join(told))
        if not any("h2" in line for line in told if line.startswith("Application")):
            figures.fail("h2load did not speak HTTP/2")
        # Requests that were under way at the end are none of these.
        if not any(" 0 errored" in line for line in told if line.startswith("requests:")):
            figures.fail("requests over HTTP/2 had errors")


def check_memory(rows, figures):
    quarter = len(rows) // 4
    if quarter < 3:
        return
    before = statistics.median(row["rss_mb"] for row in rows[quarter:2 * quarter])
    after = statistics.median(row["rss_mb"] for row in rows[-quarter:])
    print(f"memory: {before:.0f} MB in the second quarter, {after:.0f} MB in the last")
    if after > 1.2 * before:
        figures.fail(f"memory grew from {before:.0f} to {after:.0f} MB")


def copy_files(photos, folder):
    """Photographs, and damaged ones: cut off, and with bytes changed. @return both as {name: bytes}"""
    dice = random.Random(7)
    files, damaged = {}, {}
    for index, path in enumerate(photos):
        data = path.read_bytes()
        files[f"{index}.jpg"] = data
        if index % 3 == 0:
            damaged[f"cut{index}.jpg"] = data[:dice.randrange(20, len(data))]
            changed = bytearray(data)
            for _ in range(20):
                changed[dice.randrange(20, len(data))] = dice.randrange(256)
            damaged[f"changed{index}.jpg"] = bytes(changed)
    hour_ago = time.time() - 3600  # what has just changed is nothing to keep
    for name, data in {**files, **damaged}.items():
        (folder / name).write_bytes(data)
        os.utime(folder / name, (hour_ago, hour_ago))
    return files, damaged


async def usable(port, files):
    """Those of the files that every request can be made of: the corpus has others, too."""
    client, good = Client(port), {}
    for name, data in files.items():
        answers = [await client.ask(get(f"/unsafe/{options}/plain/{name}"))
                   for options in URL_OPTIONS]
        answers.append(await client.ask(post(f"/v1/resize?{BODY_OPTIONS[0]}", data)))
        if all(answer[0] == 200 for answer in answers):
            good[name] = data
    client.close()
    if not good:
        sys.exit("none of the photographs can be used")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="framewire, a release build")
    parser.add_argument("out", help="OUT.csv, OUT.svg and OUT.log are written")
    parser.add_argument("--photos", help="a folder; FRAMEWIRE_CORPUS otherwise")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--interval", type=float, default=5)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flags", default="", help="of framewire serve: \"--queue 64\"")
    parser.add_argument("--tls", action="store_true", help="TLS, and HTTP/2 beside HTTP/1.1")
    parser.add_argument("--origin", action="store_true", help="originals of a web server, too")
    parser.add_argument("--quick", action="store_true", help="12 seconds")
    args = parser.parse_args()
    if args.quick:
        args.seconds, args.interval = 12, 1
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder, open(args.out + ".csv", "w", newline="",
                                                       encoding="utf-8") as table, \
            open(args.out + ".log", "wb") as refusals, \
            subprocess.Popen(["grep", "-aE", '"status": ?[45]|^framewire'], stdin=subprocess.PIPE,
                             stdout=refusals) as filter_of_log:
        log = filter_of_log.stdin
        photos = pathlib.Path(folder) / "photos"
        photos.mkdir()
        files, damaged = copy_files(photographs(corpus(args.photos), FILES), photos)
        writer = csv.DictWriter(table, COLUMNS + [str(status) for status in STATUSES])
        writer.writeheader()
        flags = ["--client-share", "100", *args.flags.split()]
        web, origin = None, ""
        if args.origin:
            web = start_origin(photos, log)
            origin = f"http://127.0.0.1:{web.port}/"
            flags += ["--remote", "--allow-loopback"]
        if args.tls:
            cert, key = make_certificate(pathlib.Path(folder))
            flags += ["--tls-cert", str(cert), "--tls-key", str(key)]
            Client.certificate = str(cert)
        server = start_framewire(args.program.resolve(), photos, log, flags=flags, tls=args.tls,
                                 logged="requests")
        files = asyncio.run(usable(server.port, files))
        print(f"{len(files)} photographs, {len(damaged)} damaged ones, {args.clients} clients")
        http2 = None
        if args.tls:
            http2 = Http2Load(args, server.port, files, origin, pathlib.Path(folder))
        try:
            rows = asyncio.run(soak(args, server, files, damaged, figures, writer, origin))
            if http2 is not None:
                http2.end(figures)
        finally:
            status = server.stop()
            if web is not None:
                web.stop()
        if status != 0:
            figures.fail(f"the server ended with {status}")
    check_memory(rows, figures)
    lines = [Line("requests/s", [(r["seconds"], r["requests_per_s"]) for r in rows], "#5a9e4b"),
             Line("p99 ms", [(r["seconds"], r["p99_ms"]) for r in rows], "#d9822b"),
             Line("p50 ms", [(r["seconds"], r["p50_ms"]) for r in rows], "#888888"),
             Line("memory MB", [(r["seconds"], r["rss_mb"]) for r in rows], "#2b7de9")]
    if rows and rows[0]["processes"] > 1:
        lines.append(Line("own MB", [(r["seconds"], r["own_mb"]) for r in rows], "#7a3e9d"))
    with open(args.out + ".svg", "w", encoding="utf-8") as file:
        file.write(draw_over_time(lines, f"framewire serve under mixed load, {args.clients} clients"))
    kinds = ", ".join(f"{count} {kind}" for kind, count in figures.kinds.most_common())
    print(f"{figures.total} answers; {kinds}")
    for what, count in figures.failures.most_common():
        print(f"FAILURE: {what}: {count} times")
    sys.exit(1 if figures.failures else 0)


if __name__ == "__main__":
    main()
