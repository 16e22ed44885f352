"""What users write passes mypy --strict; what is wrong does not; and examples of the pages run."""

import doctest
import importlib.metadata
import inspect
import pathlib
import re
import typing

import framewire
import pytest

HERE = pathlib.Path(__file__).resolve().parent
README = HERE.parent / "README.md"

GOOD = """
import asyncio
import mmap
from typing import List, Tuple
import framewire
import numpy
import numpy.typing

def use(jpeg: bytes, mapped: mmap.mmap) -> None:
    small: bytes = framewire.resize(jpeg, size="480x", quality=80, resize="fill")
    small = framewire.resize(mapped, size=(480, None), gravity=("fp", 0.5, 0.3), deadline=None)
    result: framewire.Resized = framewire.resize_with_report(bytearray(small))
    width: int = result.report.output.width
    kinds: List[str] = [note.kind for note in result.report.warnings]
    view = memoryview(result)
    samples = numpy.frombuffer(memoryview(result), "uint8")
    size: Tuple[int, int] = framewire.sizes([jpeg, view])[0]
    with framewire.Engine("turbo", threads=2) as engine:
        for answer in engine.map([jpeg, (jpeg, {"size": "3x"})], size="480x"):
            small = answer.jpeg
        answers: framewire.Answers[framewire.Resized] = engine.map([jpeg])
        small = next(answers).jpeg
        answers.close()
        for either in engine.map([jpeg], on_error="return"):
            if isinstance(either, framewire.Error):
                print(either.code, either.message, either.offset, either.index)
            else:
                small = bytes(either)
        small = engine.submit(jpeg, size="480x").result().jpeg
        images: int = engine.stats().host_images

def train(jpegs: List[bytes], memory: memoryview) -> None:
    decoder = framewire.TensorDecoder(size=(224, 160), dtype="float16", mean=(0.5, 0.4, 0.3), std=0.2)
    sizes = framewire.sizes(jpegs, upright=decoder.exif, on_error="return")
    crops = framewire.random_resized_crops(sizes, seed=1, epoch=2, sample_ids=range(len(jpegs)))
    flips: List[bool] = framewire.random_flips(1, 2, range(len(jpegs)))
    batch = decoder.decode(jpegs, crops, flips)
    shape: Tuple[int, int, int, int] = batch.tensor.shape
    for image, error in zip(batch.images, batch.errors):
        if image is not None:
            left: int = image.crop[0]
        elif error is not None:
            print(error.code)
    kinds: List[str] = [note.kind for note in batch.warnings(0)]
    held: memoryview = decoder.decode(jpegs, framewire.center_crops(sizes, "9x9"), out=memory).tensor
    held = decoder.decode(jpegs, crops, flips, memory).tensor

def arrays(jpeg: numpy.typing.NDArray[numpy.uint8], engine: framewire.Engine) -> None:
    small: bytes = framewire.resize(jpeg, size="480x")
    for answer in engine.map([jpeg, (jpeg, {"size": "3x"})]):
        small = answer.jpeg
    crops, flips = numpy.zeros((1, 4), numpy.int64), numpy.zeros(1, numpy.bool_)
    batch = framewire.TensorDecoder().decode([jpeg], crops, flips)
    shape: Tuple[int, int, int, int] = batch.tensor.shape

class Own(framewire.TensorDecoder):
    batches = 0

def own() -> int:
    with Own() as decoder:
        return decoder.batches

async def wait(engine: framewire.Engine, jpeg: bytes) -> bytes:
    return (await engine.aresize(jpeg, size="480x")).jpeg
"""
WRONG = [
    'framewire.resize("photo.jpg")',
    'framewire.resize([255, 216])',
    'framewire.resize(b"", sise="3x")',
    'framewire.resize(b"", resize="shrink")',
    'framewire.resize(b"", quality="best")',
    'framewire.Engine("quick")',
    'framewire.Engine().map([b""], on_error="skip")',
    'framewire.Engine().map([b""]).send(None)',
    'framewire.resize(b"").report',
    'framewire.TensorDecoder(dtype="float64")',
    'framewire.TensorDecoder().decode(["photo.jpg"])',
    'framewire.TensorDecoder().decode([]).tensors',
    'framewire.random_flips(1)',
]


@pytest.fixture(scope="module")
def mypy_api():
    return pytest.importorskip("mypy.api")


def test_types_pass_strict_checking(mypy_api, tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "wrong.py").write_text("import framewire\n" + "\n".join(WRONG) + "\n")
    cache = f"--cache-dir={tmp_path / 'cache'}"
    out, _, code = mypy_api.run(["--strict", cache, str(tmp_path / "good.py")])
    assert code == 0, out
    out, _, code = mypy_api.run(["--strict", cache, str(tmp_path / "wrong.py")])
    lines = {int(line) for line in re.findall(r"wrong\.py:(\d+): error", out)}
    assert lines == set(range(2, 2 + len(WRONG))), out


def test_the_package_itself_passes(mypy_api, tmp_path):
    out, _, code = mypy_api.run(["--strict", f"--cache-dir={tmp_path}", "-p", "framewire"])
    assert code == 0, out


def test_examples_run(photo, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photo.jpg").write_bytes(photo)
    tried = doctest.testfile(str(README), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried.attempted >= 10 and tried.failed == 0
    tried = doctest.testmod(framewire)
    assert tried.attempted > 3 and tried.failed == 0
    for public in ("TensorDecoder", "random_resized_crops", "center_crops", "center_crops_to_shape"):
        doctest.run_docstring_examples(getattr(framewire, public), {}, name=public)
        assert not capsys.readouterr().out, public


def functions():
    """All that is public, methods and properties too."""
    for name in framewire.__all__:
        made = getattr(framewire, name)
        for member in (made, *vars(made).values()) if isinstance(made, type) else (made,):
            function = member.fget if isinstance(member, property) else member
            if inspect.isfunction(function):
                yield function


def test_annotations_can_be_read_at_run_time():
    read = [typing.get_type_hints(one) for one in functions()]
    assert sum(map(len, read)) > 100
    assert typing.get_type_hints(framewire.sizes)["on_error"] == typing.Literal["raise", "return"]


@pytest.mark.parametrize("name", framewire.__all__)
def test_annotations_of_classes_can_be_read_at_run_time(name):
    made = getattr(framewire, name)
    if not isinstance(made, type):
        return
    hints = typing.get_type_hints(made)
    assert not any(isinstance(hint, (str, typing.ForwardRef)) for hint in hints.values())
    if hasattr(made, "_fields"):
        assert set(hints) == set(made._fields)
        assert typing.get_type_hints(made.__new__).keys() == hints.keys()
        # What msgspec and pydantic read.
        assert not any(isinstance(hint, (str, typing.ForwardRef)) for hint in made.__annotations__.values())
    assert made.__module__ == "framewire"


def test_classes_tell_of_one_another():
    assert typing.get_type_hints(framewire.Report)["input"] is framewire.Image
    assert typing.get_type_hints(framewire.Batch)["errors"] == typing.List[typing.Optional[framewire.Error]]


def test_versions_agree():
    assert framewire.__version__ == importlib.metadata.version("framewire")


def test_everything_public_is_documented():
    for name in framewire.__all__:
        assert name == "__version__" or getattr(framewire, name).__doc__, name
    for kind in (framewire.Engine, framewire.TensorDecoder, framewire.Tensor, framewire.Batch):
        for name, member in vars(kind).items():
            assert name.startswith("_") or name in getattr(kind, "__slots__", ()) or member.__doc__, name
