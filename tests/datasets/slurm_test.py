#!/usr/bin/env python3
"""examples/slurm on a Slurm of one node, started here: usage: slurm_test.py FRAMEWIRE PICTURE.JPG WORK_DIR

Needs Debian's slurmctld, slurmd and slurm-client; without them it says SKIPPED and ends with 77.
"""

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time

import support

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from free_ports import free_ports  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "examples/slurm/resize.sbatch"
NODE = socket.gethostname().split(".")[0]
SHARDS, SAMPLES, TASKS = 8, 5, 4
#: Times that a shard has each picture: so long a task is at work that it can be found and killed.
REPEATS = 8


class Cluster:
    """slurmctld and slurmd of this user, with nothing outside their folder."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("state", "spool"):
            (folder / name).mkdir(parents=True)
        user = pwd.getpwuid(os.getuid()).pw_name
        ports = free_ports(2)
        (folder / "slurm.conf").write_text(f"""
ClusterName=test
SlurmctldHost={NODE}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SchedulerParameters=bf_interval=1,sched_interval=1,requeue_delay=1
ReturnToService=2
MinJobAge=3600
NodeName={NODE} NodeAddr=127.0.0.1 CPUs=4 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1
PartitionName=all Nodes={NODE} Default=YES State=UP
""")
        # Nodes may have fewer cores than stated: tasks then share them.
        with open(folder / "slurm.conf", "a") as config:
            config.write("SlurmdParameters=config_overrides\n")
        self.environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"))
        self.daemons = [self.start("slurmctld", "-D", "-i"), self.start("slurmd", "-D", "-N", NODE)]
        self.wait("sinfo", "-h", "-o", "%t", until=lambda state: state in ("idle", "mix", "alloc"))

    def start(self, name, *options):
        with open(self.folder / f"{name}.out", "wb") as out:
            return subprocess.Popen([daemon(name), "-f", str(self.folder / "slurm.conf"), *options],
                                    env=self.environment, stdout=out, stderr=out)

    def ask(self, *words, **options):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False,
                              timeout=60, **options)

    def wait(self, *words, until, seconds=240):
        """Asks until the answer is as wanted."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            answer = self.ask(*words).stdout.strip()
            if until(answer):
                return answer
            time.sleep(0.2)
        for log in sorted(self.folder.glob("*.log")):
            print(f"== {log.name}\n{log.read_text()[-3000:]}")
        raise AssertionError(f"{words}: {answer!r} after {seconds} s")

    def stop(self):
        for process in reversed(self.daemons):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def daemon(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def make_shards(program, picture, folder):
    folder.mkdir(parents=True)
    for i in range(SHARDS):
        with tarfile.open(folder / f"s-{i:02}.tar", "w") as shard:
            for j in range(SAMPLES):
                resized = folder / "picture.jpg"
                subprocess.run([program, "resize", picture, resized, "--size", f"{1400 + 10 * i + j}x",
                                "--enlarge"], check=True, capture_output=True)
                for k in range(REPEATS):
                    shard.add(resized, arcname=f"{i:02}-{j:02}-{k}.jpg")
                resized.unlink()


def tasks_of(program):
    """Process ids of the program in tasks of an array, by task."""
    found = {}
    for path in pathlib.Path("/proc").iterdir():
        try:
            if not path.name.isdigit() or os.readlink(path / "exe") != program:
                continue
            words = (path / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for word in words:
            if word.startswith(b"SLURM_ARRAY_TASK_ID="):
                found[int(word.partition(b"=")[2])] = int(path.name)
    return found


def kill_one(program, out):
    """Kills the task that is at work once a shard is done. @return its number"""
    end = time.monotonic() + 240
    while time.monotonic() < end:
        tasks = tasks_of(program)
        if tasks and list(out.glob("*.tar.jsonl")):
            task, process = sorted(tasks.items())[0]
            with contextlib.suppress(ProcessLookupError):  # where it was quicker than this
                os.kill(process, signal.SIGKILL)
                return task
        time.sleep(0.005)
    raise AssertionError("no task was at work")


def shards_in(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.tar")}


def check(program, picture, work):
    make_shards(program, picture, work / "in")
    shards = str(work / f"in/s-{{00..{SHARDS - 1}}}.tar")
    words = ["--size", "700x", "--jobs", "1"]
    subprocess.run([program, "batch", shards, work / "alone", *words], check=True, capture_output=True)
    cluster = Cluster(work / "slurm")
    try:
        cluster.environment.update(SHARDS=shards, OUTPUT=str(work / "out"), FRAMEWIRE=program)
        sent = cluster.ask("sbatch", "--parsable", f"--array=1-{TASKS}", str(SCRIPT), *words, cwd=work)
        assert sent.returncode == 0, sent.stderr
        killed = kill_one(program, work / "out")
        cluster.wait("squeue", "-h", "-o", "%i %t", until=lambda queue: queue == "")
        logs = {path.stem.rsplit("_", 1)[1]: path.read_text() for path in work.glob("framewire-*_*.log")}
        assert sorted(logs) == [str(task + 1) for task in range(TASKS)], sorted(logs)
        assert "ended with 137" in logs[str(killed)], logs[str(killed)]
        assert "restart 1" in logs[str(killed)], logs[str(killed)]
        report = subprocess.run([program, "report", work / "out", shards], capture_output=True, text=True,
                                check=False)
        assert report.returncode == 0, report.stdout
        assert shards_in(work / "out") == shards_in(work / "alone"), "not the shards of one process"
        left = [path.name for path in (work / "out").iterdir() if path.name.startswith(".")]
        assert not left, left
        print(f"{SHARDS} shards by {TASKS} tasks, of which task {killed} was killed and went on")
    finally:
        cluster.stop()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    lacking = [name for name in ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo")
               if daemon(name) is None]
    if lacking:
        print(f"SKIPPED: there is no {', '.join(lacking)}")
        return support.SKIPPED
    work = pathlib.Path(sys.argv[3]).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    check(os.path.realpath(sys.argv[1]), os.path.abspath(sys.argv[2]), work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
