"""What the scripts that measure the image service share: servers, clients, inputs."""

import asyncio
import json
import math
import os
import pathlib
import platform
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time

WAIT_S = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def on_core(core):
    """The beginning of a command that runs on one core; on all where it is None."""
    return [] if core is None else ["taskset", "-c", str(core)]


class Server:
    """A program that listens on a port of 127.0.0.1, with all processes that it starts."""

    def __init__(self, command, port, log):
        self.port, self.log = port, log
        # Its children are ended with it: they are of its session.
        self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + WAIT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    raise RuntimeError(f"no server: {' '.join(command)}; see {log.name}") from None
                time.sleep(0.05)

    def processes(self):
        """Its process and all below it."""
        children, found = {}, [self.process.pid]
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
        for pid in found:
            found += children.get(pid, [])
        return found

    def memory_of_each(self):
        """(resident bytes, those that are neither of files nor shared) of its process, which is
        first, and of each below it."""
        sizes, page = [], os.sysconf("SC_PAGE_SIZE")
        for pid in self.processes():
            try:
                fields = pathlib.Path(f"/proc/{pid}/statm").read_text().split()
            except OSError:
                continue
            resident, shared = int(fields[1]) * page, int(fields[2]) * page
            sizes.append((resident, resident - shared))
        return sizes

    def rss_bytes(self):
        return sum(resident for resident, _ in self.memory_of_each())

    def stop(self):
        """@return the exit status; negative: killed by a signal."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                pass
            try:
                return self.process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                pass
        return self.process.returncode


def start_framewire(program, folder, log, core=None, flags=(), tls=False, logged="none"):
    """@param tls     whether its address speaks TLS; the flags then name a certificate
    @param logged  which requests have a line: none, errors or requests"""
    port = free_port()
    listen = f"{'tls:' if tls else ''}127.0.0.1:{port}"
    return Server([*on_core(core), str(program), "serve", str(folder), "--listen", listen,
                   "--log", logged, *flags], port, log)


def make_certificate(folder):
    """A self-signed one for localhost. @return its file and that of its key"""
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out",
                    str(cert)], check=True, capture_output=True)
    key.chmod(0o600)
    return cert, key


def size_of_jpeg(data):
    """(width, height) as the frame header says; None where there is none."""
    at = 2
    if data[:2] != b"\xff\xd8" or data[-2:] != b"\xff\xd9":
        return None
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5:at + 9])
            return width, height
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    return None


def photographs(folder, limit, seed=1):
    """Up to `limit` JPEGs below a folder, always the same ones."""
    found = sorted(path for path in pathlib.Path(folder).rglob("*")
                   if path.suffix.lower() in (".jpg", ".jpeg") and path.stat().st_size > 4096)
    random.Random(seed).shuffle(found)
    return found[:limit]


def corpus(argument):
    folder = argument or os.environ.get("FRAMEWIRE_CORPUS")
    if not folder:
        sys.exit("say where photographs are: --photos FOLDER, or FRAMEWIRE_CORPUS")
    return pathlib.Path(folder)


def make_inputs(program, photos, to, count, size):
    """`count` photographs of one size, 4:2:0, quality 90, as 0.jpg, 1.jpg, …"""
    made = 0
    for path in photos:
        if made == count:
            break
        done = subprocess.run(
            [str(program), "resize", str(path), str(to / f"{made}.jpg"), "--size", size, "--resize",
             "fill", "--enlarge", "--quality", "90", "--sampling", "420"],
            capture_output=True, check=False)
        made += done.returncode == 0
    if made == 0:
        sys.exit("none of the photographs can be read")
    # Copies: the service would make a picture once for all names of one file that are asked for at once.
    for index in range(made, count):
        shutil.copyfile(to / f"{index % made}.jpg", to / f"{index}.jpg")


def percentile(values, part):
    """Nearest rank; nan where there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)] if ordered else math.nan


def machine(program):
    version = subprocess.run([str(program), "version"], capture_output=True, text=True, check=False)
    processor = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                      if line.startswith("model name")), platform.machine())
    return {"processor": processor, "cores": os.cpu_count(),
            "framewire": version.stdout.strip().splitlines()[:1], "load": os.getloadavg()}


def write_json(path, data):
    if path:
        pathlib.Path(path).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def table(head, rows):
    """Prints columns, the first to the left."""
    texts = [head] + [[f"{v:,.1f}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(head))]
    for row in texts:
        print("  ".join(t.ljust(w) if i == 0 else t.rjust(w)
                        for i, (t, w) in enumerate(zip(row, widths))), flush=True)


class Gone(Exception):
    """The connection ended before an answer had come whole."""


class Client:
    """One HTTP/1.1 connection that is opened when it is needed."""

    certificate = None  # the server's, where it speaks TLS

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def open(self):
        tls = {}
        if self.certificate is not None:
            tls = {"ssl": ssl.create_default_context(cafile=self.certificate),
                   "server_hostname": "localhost"}
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, **tls)
        self.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None

    async def send(self, data):
        if self.writer is None:
            await self.open()
        try:
            self.writer.write(data)
            await self.writer.drain()
        except OSError as error:
            self.close()
            raise Gone from error

    async def receive(self, has_body=True):
        """@return (status, {field: value}, body)"""
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            pairs = (line.split(": ", 1) for line in head[1:] if ": " in line)
            fields = {name.lower(): value for name, value in pairs}
            status = int(head[0].split()[1])
            length = int(fields.get("content-length", 0)) if has_body and status != 304 else 0
            body = await self.reader.readexactly(length) if length else b""
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise Gone from error
        if fields.get("connection", "").lower() == "close":
            self.close()
        return status, fields, body

    async def ask(self, data):
        """One request and its answer; on a new connection where the old one had ended idle."""
        fresh = self.writer is None
        try:
            await self.send(data)
            return await self.receive()
        except Gone:
            if fresh:
                raise
        await self.send(data)
        return await self.receive()


def get(target, fields=""):
    return f"GET {target} HTTP/1.1\r\nHost: bench\r\n{fields}\r\n".encode()


def post(target, body, length=None):
    return (f"POST {target} HTTP/1.1\r\nHost: bench\r\nContent-Type: image/jpeg\r\n"
            f"Content-Length: {len(body) if length is None else length}\r\n\r\n").encode() + body
