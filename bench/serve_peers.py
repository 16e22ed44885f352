#!/usr/bin/env python3
"""Sets `framewire serve` beside nginx's image filter, thumbor, and libvips in memory.

Each server has one core, the client (wrk) another. All take the same files, 1920×1080, and answer
480×270 at quality 80. They take turns; figures are medians over the turns, with minimum and maximum.
libvips has no server: a loop resizes the same bytes in memory, on the servers' core. Answers are
looked at before each turn, outside the timing. Results are cached by none of them.

A peer that is not installed is left out, and named. Debian: wrk, nginx, libnginx-mod-http-image-filter.
PyPI: thumbor, pyvips[binary]; with --venv FOLDER they are looked for, or with --install put, there.
"""

import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request

from serve_bench import (Server, corpus, free_port, machine, make_inputs, on_core, photographs,
                         size_of_jpeg, start_framewire, table, write_json)

FILES = 32
SIZE = (480, 270)

NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
load_module modules/ngx_http_image_filter_module.so;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
  fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      root {photos}; image_filter crop 480 270; image_filter_jpeg_quality 80;
      image_filter_buffer 64M;
    }}
  }}
}}
"""

THUMBOR = """
LOADER = 'thumbor.loaders.file_loader'
FILE_LOADER_ROOT_PATH = '{photos}'
STORAGE = 'thumbor.storages.no_storage'
QUALITY = 80
ALLOW_UNSAFE_URL = True
"""

VIPS = """
import pathlib, sys, time
import pyvips
pyvips.cache_set_max(0)
files = [path.read_bytes() for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jpg"))]
def one(data):
    image = pyvips.Image.thumbnail_buffer(data, 480, height=270, size="force")
    return image.jpegsave_buffer(Q=80)
sys.stdout.buffer.write(one(files[0]))
sys.stdout.flush()
end, done, start = float(sys.argv[2]), 0, time.monotonic()
while time.monotonic() - start < end:
    one(files[done % len(files)])
    done += 1
print(done / (time.monotonic() - start), file=sys.stderr)
"""

# Files in order, each connection beginning elsewhere.
WRK = """
local at = 0
function init(args) math.randomseed(os.time()); at = math.random(0, {files} - 1) end
function request() at = (at + 1) % {files}; return wrk.format("GET", "{before}" .. at .. ".jpg") end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("RESULT %f %f %f %d\\n", summary.requests * 1e6 / summary.duration,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    e.status + e.connect + e.read + e.write + e.timeout))
end
"""


def framewire(args, work, log):
    server = start_framewire(args.program, work / "photos", log, args.server_core,
                             ("--threads", "1", "--engine-threads", "1"))
    return server, f"/unsafe/rs:force:{SIZE[0]}:{SIZE[1]}/q:80/plain/"


def nginx(args, work, log):
    port = free_port()
    config = work / "nginx.conf"
    config.write_text(NGINX.format(folder=work, port=port, photos=work / "photos"))
    command = [*on_core(args.server_core), "nginx", "-p", "/usr/share/nginx", "-c", str(config)]
    return Server(command, port, log), "/"


def thumbor(args, work, log):
    port = free_port()
    config = work / "thumbor.conf"
    config.write_text(THUMBOR.format(photos=work / "photos"))
    command = [*on_core(args.server_core), str(args.venv / "bin/thumbor"), "-p", str(port), "-i",
               "127.0.0.1", "-c", str(config), "-l", "error"]
    return Server(command, port, log), f"/unsafe/{SIZE[0]}x{SIZE[1]}/"


def measure_server(args, work, start):
    """@return (requests a second, p50 and p99 in ms)"""
    with open(work / f"{start.__name__}.out", "ab") as log:
        server, before = start(args, work, log)
        try:
            for index in range(FILES):
                with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{before}{index}.jpg",
                                            timeout=20) as answer:
                    found = size_of_jpeg(answer.read())
                if found != SIZE:
                    raise RuntimeError(f"{start.__name__} answers {found} for {SIZE}")
            script = work / "wrk.lua"
            script.write_text(WRK.format(files=FILES, before=before))
            ran = subprocess.run(
                [*on_core(args.client_core), "wrk", "-t1", f"-c{args.connections}",
                 f"-d{args.seconds}s", "--timeout", "30s", "-s", str(script),
                 f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True, check=True)
        finally:
            server.stop()
    found = re.search(r"RESULT (\S+) (\S+) (\S+) (\d+)", ran.stdout)
    if not found or found.group(4) != "0":
        raise RuntimeError(f"{start.__name__}: errors: {ran.stdout}{ran.stderr}")
    return tuple(float(text) for text in found.groups()[:3])


def measure_vips(args, work):
    ran = subprocess.run(
        [*on_core(args.server_core), "env", "VIPS_CONCURRENCY=1", str(args.venv / "bin/python"),
         "-c", VIPS, str(work / "photos"), str(args.seconds)], capture_output=True, check=True)
    if size_of_jpeg(ran.stdout) != SIZE:
        raise RuntimeError("libvips made another size")
    rate = float(ran.stderr.split()[-1])
    return rate, 1000 / rate, float("nan")


def has_module(venv, name):
    python = venv / "bin/python"
    return python.exists() and subprocess.run([str(python), "-c", f"import {name}"], check=False,
                                              capture_output=True).returncode == 0


def install(venv):
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    subprocess.run([str(venv / "bin/pip"), "install", "-q", "thumbor", "pyvips[binary]"], check=True)


def peers(args):
    """{name: what measures it}, and what is missing."""
    found = {"framewire serve": lambda work: measure_server(args, work, framewire)}
    missing = []
    module = pathlib.Path("/usr/lib/nginx/modules/ngx_http_image_filter_module.so")
    if shutil.which("nginx") and module.exists():
        found["nginx image_filter"] = lambda work: measure_server(args, work, nginx)
    else:
        missing.append("nginx with libnginx-mod-http-image-filter")
    if (args.venv / "bin/thumbor").exists():
        found["thumbor"] = lambda work: measure_server(args, work, thumbor)
    else:
        missing.append("thumbor")
    if has_module(args.venv, "pyvips"):
        found["libvips, in memory"] = lambda work: measure_vips(args, work)
    else:
        missing.append("pyvips")
    return found, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="framewire, a release build")
    parser.add_argument("--photos", help="a folder; FRAMEWIRE_CORPUS otherwise")
    parser.add_argument("--venv", type=pathlib.Path, default=pathlib.Path("build/bench-venv"))
    parser.add_argument("--install", action="store_true", help="put thumbor and pyvips there")
    parser.add_argument("--seconds", type=int, default=10, help="of each turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--client-core", type=int, default=1)
    parser.add_argument("--json", help="write all figures there")
    parser.add_argument("--quick", action="store_true", help="one turn of two seconds")
    args = parser.parse_args()
    if args.quick:
        args.turns, args.seconds = 1, 2
    if not shutil.which("wrk"):
        sys.exit("wrk is missing")
    args.program = args.program.resolve()
    if args.install and not (args.venv / "bin/thumbor").exists():
        install(args.venv)
    found, missing = peers(args)
    for name in missing:
        print(f"left out: {name} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)  # nginx's worker may be another user
        (work / "photos").mkdir()
        make_inputs(args.program, photographs(corpus(args.photos), 4 * FILES), work / "photos",
                    FILES, "1920x1080")
        turns = {name: [] for name in found}
        for _ in range(args.turns):
            for name, measure in found.items():
                turns[name].append(measure(work))
    rows = []
    for name, values in turns.items():
        rates = [value[0] for value in values]
        rows.append([name, statistics.median(rates), min(rates), max(rates),
                     statistics.median(v[1] for v in values), statistics.median(v[2] for v in values)])
    table(["1920×1080 → 480×270, one core", "pictures/s", "min", "max", "p50 ms", "p99 ms"], rows)
    write_json(args.json, {"machine": machine(args.program), "connections": args.connections,
                           "seconds": args.seconds, "turns": turns})


if __name__ == "__main__":
    main()
