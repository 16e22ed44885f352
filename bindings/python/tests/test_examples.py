"""The examples in Python, run as their users do. One whose packages are not there is skipped."""

import asyncio
import importlib.util
import io
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import textwrap
import types

import framewire
import numpy
import pytest
from PIL import Image

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="an sdist has no examples")


@pytest.fixture
def folder(tmp_path, photo):
    """A folder with five JPEGs and a file that is none."""
    made = tmp_path / "photos"
    made.mkdir()
    for number in range(5):
        (made / f"{number}.jpg").write_bytes(photo)
    (made / "bad.jpg").write_bytes(b"no JPEG")
    return made


def run(example, *arguments, needs=(), code=0):
    for package in needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    ran = subprocess.run([sys.executable, "-I", EXAMPLES / example, *map(str, arguments)],
                         capture_output=True, text=True, timeout=300, env=environment)
    assert ran.returncode == code, ran.stderr
    return ran


def test_asyncio(folder, tmp_path):
    out = tmp_path / "out"
    ran = run("asyncio_thumbnails.py", out, *sorted(folder.iterdir()), folder / "none.jpg", code=1)
    assert sorted(path.name for path in out.iterdir()) == [f"{number}.jpg" for number in range(5)]
    assert "bad.jpg: no JPEG" in ran.stdout
    assert "none.jpg: [Errno 2]" in ran.stdout
    run("asyncio_thumbnails.py", out, folder / "0.jpg")


def test_asyncio_replaces_neither_an_original_nor_another_thumbnail(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(folder / "0.jpg", other / "0.jpg")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.jpg")}

    def refused(*arguments):
        command = [sys.executable, EXAMPLES / "asyncio_thumbnails.py", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 1 and {path: path.read_bytes() for path in tmp_path.rglob("*.jpg")} == before
        return ran.stderr

    assert "0.jpg would both become" in refused(tmp_path / "out", folder / "0.jpg", other / "0.jpg")
    assert "0.jpg is an original" in refused(folder, folder / "0.jpg")
    assert "0.jpg is an original" in refused(other, other / "0.jpg", folder / "1.jpg")


def test_dataloader(folder):
    ran = run("dataloader.py", folder, needs=["torch"])
    assert ran.stdout.count("(5, 3, 224, 224)") == 2
    assert "bad.jpg" in ran.stderr


def test_webdataset(folder, tmp_path):
    shard = tmp_path / "0.tar"
    with tarfile.open(shard, "w") as tar:
        for path in sorted(folder.iterdir()):
            for suffix, data in ((".jpg", path.read_bytes()), (".cls", b"3")):
                member = tarfile.TarInfo(path.stem + suffix)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    ran = run("webdataset_batches.py", shard, needs=["webdataset"])
    assert "(5, 3, 224, 224)" in ran.stdout
    assert "classes [3, 3, 3, 3]" in ran.stdout
    assert "bad: " in ran.stderr


def test_huggingface_and_jax(folder):
    ran = run("huggingface_jax.py", folder, needs=["datasets", "jax"])
    assert "(5, 224, 224, 3) float32" in ran.stdout
    assert "bad.jpg: " in ran.stderr


def test_ray(folder, tmp_path):
    out = tmp_path / "out"
    run("ray_thumbnails.py", folder, out, needs=["ray", "pyarrow"])
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(out).to_pydict()
    found = dict(zip((pathlib.Path(path).name for path in rows["path"]), rows["jpeg"]))
    assert sorted(found) == sorted(path.name for path in folder.iterdir())
    assert found["bad.jpg"] is None
    assert all(found[f"{number}.jpg"].startswith(b"\xff\xd8") for number in range(5))


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # pages open files in passing
def test_the_code_of_the_pages_runs(photo, tmp_path, monkeypatch):
    """In the order of each page, as one program; what needs a GPU is compiled only."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photo.jpg").write_bytes(photo)
    used = []
    for page in (EXAMPLES.parent / "README.md", EXAMPLES.parent / "docs" / "python.md"):
        names = {
            "framewire": framewire, "jpegs": [photo] * 3, "jpeg": photo, "use": used.append, "epoch": 0,
            "ids": range(3), "torch": types.SimpleNamespace(from_dlpack=numpy.from_dlpack),
        }
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        assert blocks, page
        for block in blocks:
            body = textwrap.indent(block, "    ")
            code = compile(f"async def run():\n{body}\n    return locals()", str(page), "exec")
            if "device=0" not in block:
                exec(code, names)
                names.update(asyncio.run(names["run"]()))
        assert framewire.sizes([names["small"]]) == [(480, 270)]
    assert len(used) == 6 and all(result[:2] == b"\xff\xd8" for result in used)
    assert names["images"].shape == (3, 3, 224, 224) and names["batch"].ok == [True] * 3


def test_before_and_after(folder, tmp_path):
    plots = tmp_path / "plots.png"
    ran = run("before_after.py", folder / "0.jpg", plots, needs=["matplotlib"])
    assert "640×360 before; quality 30 " in ran.stdout
    picture = Image.open(plots)
    assert picture.format == "PNG" and picture.size == (1280, 880) and len(picture.getcolors(1 << 24)) > 1000


@pytest.fixture
def shared(folder):
    """What ranks are started with: their example, its folder, and an environment without GPUs."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    environment = {**os.environ, "MASTER_PORT": str(port), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    return [EXAMPLES / "broadcast.py", folder], environment


def check_ranks(outputs, count):
    """Each of `count` ranks has said that both ways made the same batch."""
    for rank in range(count):
        assert re.search(rf"rank {rank} of {count}, cpu, gloo: .* and gathered in .* ms; equal\n", outputs)
    assert "DIFFERENT" not in outputs


@pytest.mark.parametrize("count", [1, 2, 3])
def test_broadcast(shared, count):
    command, environment = shared
    environment = {**environment, "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1"}
    ranks = [
        subprocess.Popen([sys.executable, "-I", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(count)
    ]
    outputs = [rank.communicate(timeout=300) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * count, outputs
    check_ranks("".join(out for out, _ in outputs), count)
    # 64 images of six files, the last of which is no JPEG; told of by the rank whose share it is in.
    told = sum(error.count("bad.jpg: ") for _, error in outputs)
    assert told == 64 // 6


def test_broadcast_started_by_torchrun(shared):
    command, environment = shared
    ran = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port",
                          environment["MASTER_PORT"], *command],
                         capture_output=True, text=True, timeout=300, env=environment)
    assert ran.returncode == 0, ran.stderr
    check_ranks(ran.stdout, 2)


def test_broadcast_started_by_mpirun(shared):
    command, environment = shared
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed")
    # Open MPI refuses to run as root, or with more ranks than cores, unless told.
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    ran = subprocess.run(["mpirun", "--oversubscribe", "-n", "3", sys.executable, "-I", *command],
                         capture_output=True, text=True, timeout=300, env=environment)
    assert ran.returncode == 0, ran.stderr
    check_ranks(ran.stdout, 3)


def test_broadcast_says_what_several_machines_lack(shared):
    command, environment = shared
    environment |= {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0"}
    environment = {name: value for name, value in environment.items()
                   if name not in ("MASTER_ADDR", "RANK", "WORLD_SIZE")}
    ran = subprocess.run([sys.executable, "-I", *command], capture_output=True, text=True, timeout=300,
                         env=environment)
    assert ran.returncode == 1 and "MASTER_ADDR is not set; accepted" in ran.stderr
