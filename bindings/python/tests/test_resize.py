import array
import gc
import mmap
import os
import subprocess
import sys
import sysconfig
import threading

import framewire
import numpy
import pytest
from conftest import decode, make_jpeg
from PIL import Image, ImageChops, ImageStat


@pytest.mark.parametrize(
    "options, size",
    [
        ({"size": "320x"}, (320, 180)),
        ({"size": "x90"}, (160, 90)),
        ({"size": 320}, (320, 180)),
        ({"size": (320, 320)}, (320, 180)),
        ({"size": (None, 90)}, (160, 90)),
        ({"size": [100, 100], "resize": "fill"}, (100, 100)),
        ({"size": "100x100", "resize": "force"}, (100, 100)),
        ({"size": "200x200", "background": (255, 0, 0)}, (200, 200)),
        ({"size": "1280x"}, (640, 360)),
        ({"size": "1280x", "enlarge": True}, (1280, 720)),
        ({"crop": (0.5, 0.5)}, (320, 180)),
        ({"rotate": 90, "size": "90x"}, (90, 160)),
        ({"size": "320x", "dpr": 0.5}, (160, 90)),
        ({"size": "64x36", "padding": (1, 2, 3, 4)}, (70, 40)),
        ({"size": None}, (640, 360)),
    ],
)
def test_outputs_have_the_size_asked_for(photo, options, size):
    assert decode(framewire.resize(photo, **options)).size == size


def test_the_picture_is_what_pillow_makes_of_it(photo):
    ours = decode(framewire.resize(photo, size="160x", quality=95, sampling=444))
    theirs = decode(photo).resize((160, 90), Image.Resampling.LANCZOS)
    difference = ImageStat.Stat(ImageChops.difference(ours, theirs))
    assert max(difference.mean) < 2.5
    # A test that could not tell pictures apart would pass for any.
    other = decode(make_jpeg(640, 360, seed=9)).resize((160, 90))
    assert max(ImageStat.Stat(ImageChops.difference(ours, other)).mean) > 20


def test_options_reach_the_encoder(photo):
    sizes = [len(framewire.resize(photo, size="320x", quality=q)) for q in (20, 60, 95)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[2] / 2
    assert decode(framewire.resize(photo, progressive=True)).info["progressive"] == 1
    assert decode(framewire.resize(photo, sampling="gray")).mode == "L"
    left = decode(framewire.resize(photo, size="90x90", resize="fill", gravity=("fp", 0, 0.5)))
    right = decode(framewire.resize(photo, size="90x90", resize="fill", gravity="fp:1:0.5"))
    assert left.tobytes() != right.tobytes()


def test_bytes_equal_the_programs(photo, program, tmp_path):
    source = tmp_path / "in.jpg"
    source.write_bytes(make_jpeg(641, 359, quality=85))
    for options in (
        {"size": "320x", "quality": 80},
        {"size": "100x100", "resize": "fill", "gravity": "noea"},
        {"size": "200x200", "background": "102030", "sampling": "444", "progressive": True},
        {"no_auto_orient": True, "sharpen": 0.7, "kernel": "area", "max_bytes": "8k"},
    ):
        words = []
        for name, value in options.items():
            words += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
        out = tmp_path / "out.jpg"
        subprocess.run([program, "resize", source, out, "--codec", "turbo", *words], check=True)
        assert framewire.resize(source.read_bytes(), codec="turbo", **options) == out.read_bytes()


def test_auto_orient_is_the_opposite_of_no_auto_orient():
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = make_jpeg(64, 32, exif=exif)
    assert decode(framewire.resize(turned)).size == (32, 64)
    assert decode(framewire.resize(turned, auto_orient=True)).size == (32, 64)
    assert decode(framewire.resize(turned, auto_orient=False)).size == (64, 32)
    assert decode(framewire.resize(turned, no_auto_orient=True)).size == (64, 32)


@pytest.mark.parametrize(
    "wrap",
    [
        bytes,
        bytearray,
        memoryview,
        lambda jpeg: memoryview(b"xx" + jpeg + b"yy")[2:-2],
        lambda jpeg: numpy.frombuffer(jpeg, "uint8"),
        lambda jpeg: array.array("B", jpeg),
        lambda jpeg: framewire.resize_with_report(jpeg),
    ],
)
def test_anything_with_contiguous_bytes_is_read(photo, wrap):
    assert decode(framewire.resize(wrap(photo), size="64x")).size == (64, 36)


def test_a_mapped_file_is_read_and_let_go(photo, tmp_path):
    path = tmp_path / "photo.jpg"
    path.write_bytes(photo)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert framewire.resize(mapped, size="64x") == framewire.resize(photo, size="64x")
    # mmap.close() raises BufferError while somebody holds its bytes, as does bytearray.append().
    held = bytearray(photo)
    framewire.resize(held)
    held.append(0)


def test_bytes_that_are_not_contiguous_are_refused(photo):
    for view in (memoryview(photo)[::2], numpy.frombuffer(photo, "uint8")[::-1]):
        with pytest.raises(framewire.InvalidInput, match="^jpeg: .*not contiguous") as caught:
            framewire.resize(view)
        assert caught.value.subject == "jpeg"


@pytest.mark.parametrize("thing", ["photo.jpg", None, 3, [1, 2], object()])
def test_what_has_no_bytes_is_a_type_error(thing):
    with pytest.raises(TypeError, match="buffer protocol"):
        framewire.resize(thing)


def test_a_released_memoryview_is_an_error(photo):
    view = memoryview(photo)
    view.release()
    with pytest.raises(ValueError, match="released"):
        framewire.resize(view)


def test_a_report_says_what_was_done(photo):
    result = framewire.resize_with_report(photo, size="160x", quality=70)
    report = result.report
    assert (report.input.width, report.input.height, report.input.bytes) == (640, 360, len(photo))
    assert (report.output.width, report.output.height) == decode(result.jpeg).size == (160, 90)
    assert report.output.bytes == len(result) == len(result.jpeg) == len(bytes(result))
    assert (report.codec, report.quality, report.warnings) == ("turbo", 70, ())
    assert report.input.sampling == "420" and report.input.process == "baseline"
    assert 0 < report.times.parse_us < report.times.total_us
    assert not report.original_kept and result.index is None
    assert bytes(memoryview(result)) == result.jpeg and memoryview(result).readonly
    kept = framewire.resize_with_report(make_jpeg(64, 64, quality=20), size="64x")
    assert kept.report.original_kept and kept.report.quality == 0


def test_a_memoryview_keeps_the_answer(photo):
    result = framewire.resize_with_report(photo, size="160x")
    expected, view = result.jpeg, memoryview(result)
    del result
    gc.collect()
    framewire.resize_with_report(photo, size="161x")
    assert view == expected


def test_damage_becomes_a_warning_and_strict_refuses_it(photo):
    report = framewire.resize_with_report(photo[: len(photo) // 2], size="64x").report
    (note,) = report.warnings
    assert note.kind == "truncated" and note.message and note == (note.kind, note.message, note.offset)
    with pytest.raises(framewire.InvalidInput):
        framewire.resize(photo[: len(photo) // 2], size="64x", strict=True)


def test_threads_work_side_by_side_and_get_their_own(photos):
    expected = [framewire.resize(photo, size="64x") for photo in photos]
    wrong = []

    def work(shift):
        for i in range(len(photos)):
            at = (i + shift) % len(photos)
            if framewire.resize(photos[at], size="64x") != expected[at]:
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(shift,)) for shift in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="this Python has no GIL")
def test_the_gil_is_released(slow_photo):
    """Another thread runs on while one resizes for a long time."""
    done = threading.Event()
    thread = threading.Thread(
        target=lambda: (framewire.resize(slow_photo, size="2000x"), done.set())
    )
    thread.start()
    steps = 0
    while not done.wait(0.005):
        steps += 1
    thread.join()
    assert steps > 5


def resident_kib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def test_ten_thousand_resizes_leave_memory_as_it_was():
    small = make_jpeg(96, 64)
    bad = small[:50]

    def run(times):
        for i in range(times):
            framewire.resize(small, size="48x")
            framewire.resize_with_report(bytearray(small), size=(32, 32), quality=60 + i % 9).report
            with pytest.raises(framewire.InvalidInput):
                framewire.resize(bad)

    run(400)
    before = resident_kib()
    run(5000)
    assert resident_kib() - before < 2048


def test_daemon_threads_do_not_abort_the_exit():
    script = """
import framewire, io, threading
from PIL import Image
out = io.BytesIO(); Image.effect_noise((320, 240), 90).save(out, "JPEG"); jpeg = out.getvalue()
def work():
    while True: framewire.resize(jpeg, size="64x"); framewire.sizes([jpeg])
for _ in range(3): threading.Thread(target=work, daemon=True).start()
framewire.resize(jpeg, size="64x")
"""
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
