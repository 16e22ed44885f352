import gc
import sysconfig
import threading
import weakref

import framewire
import numpy as np
import pytest
from conftest import CROPS, elements_of, make_jpeg, run, skip_under, tensor_decoder


def test_the_tensor_outlives_batch_and_decoder(jpegs, pixels):
    def views():
        tensor = tensor_decoder(dtype="uint8", layout="NHWC").decode(jpegs, CROPS).tensor
        return [tensor.numpy(), np.asarray(tensor), np.asarray(memoryview(tensor)), np.from_dlpack(tensor)]

    for view in views():
        gc.collect()
        assert (view == pixels).all()
    array, *_ = views()
    tensor = tensor_decoder(dtype="uint8", layout="NHWC").decode(jpegs, CROPS).tensor
    tensor.numpy()[0] = 9  # one memory
    assert (np.from_dlpack(tensor)[0] == 9).all() and (np.asarray(tensor)[0] == 9).all()
    copy = np.array(tensor, copy=True)
    copy[:] = 1
    assert (tensor.numpy()[0] == 9).all()
    assert np.asarray(tensor, np.float64).dtype == np.float64


def test_capsules(jpegs):
    tensor = tensor_decoder().decode(jpegs).tensor
    assert tensor.__dlpack_device__() == (1, 0)
    names = [repr(tensor.__dlpack__(**given)).split('"')[1] for given in (
        {}, {"max_version": None}, {"max_version": (0, 8)}, {"max_version": (1, 0)},
        {"max_version": (1, 2), "dl_device": (1, 0), "copy": False},
    )]
    assert names == ["dltensor"] * 3 + ["dltensor_versioned"] * 2
    with pytest.raises(BufferError, match="stream"):
        tensor.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="dl_device"):
        tensor.__dlpack__(dl_device=(2, 0))
    copied = np.from_dlpack(tensor, copy=True)
    copied[:] = 5
    assert not (tensor.numpy() == 5).all()
    view = memoryview(tensor)
    assert (view.format, view.shape, view.readonly, view.c_contiguous) == ("f", (5, 3, 48, 64), False, True)
    assert "float32 (5, 3, 48, 64)" in repr(tensor)
    half = tensor_decoder(dtype="bfloat16").decode(jpegs).tensor
    for read in (memoryview, lambda tensor: tensor.numpy(), np.asarray):
        with pytest.raises(BufferError, match="bfloat16"):
            read(half)


def refused(decoder, jpegs, out, found):
    """Which exception of the exporter's was the cause."""
    with pytest.raises(framewire.InvalidInput, match=f"^out: found {found}.*; accepted: writable") as caught:
        decoder.decode(jpegs, out=out)
    assert caught.value.subject == "out"
    return caught.value.__cause__


def test_memory_that_is_not_lent_is_named(jpegs):
    decoder = tensor_decoder()

    class Lends:
        def __init__(self, raised, at):
            self.raised, self.at = raised, at

        def __dlpack_device__(self):
            if self.at == "device":
                raise self.raised
            return (1, 0)

        def __dlpack__(self, **_):
            raise self.raised

    for at in ("device", "capsule"):
        for raised in (BufferError("mine"), ValueError("mine"), TypeError("mine"), framewire.Busy("mine")):
            assert refused(decoder, jpegs, Lends(raised, at), ".*Lends'>, which does not lend") is raised
        with pytest.raises(KeyboardInterrupt):
            decoder.decode(jpegs, out=Lends(KeyboardInterrupt(), at))
    assert decoder.decode(jpegs, out=tensor_decoder().decode(jpegs).tensor).ok == [True] * 5


def test_torch_that_does_not_lend_its_memory_is_named(jpegs):
    torch = pytest.importorskip("torch")
    shape = (5, 3, 48, 64)
    for out in (torch.zeros(shape, requires_grad=True), torch.zeros(shape).to_sparse(),
                torch.zeros(shape, device="meta")):
        assert refused(tensor_decoder(), jpegs, out, ".*Tensor.*lend") is not None
    decoder = tensor_decoder(device=torch.device("cpu", 0))
    assert decoder.decode(jpegs, out=torch.zeros(shape, requires_grad=True).detach()).ok == [True] * 5


def test_out_may_be_numpys_bfloat16(jpegs):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    decoder = tensor_decoder(dtype="bfloat16")
    out = np.zeros((5, 3, 48, 64), ml_dtypes.bfloat16)
    assert decoder.decode(jpegs, out=out).tensor is out
    assert (out.view(np.uint16).ravel() == elements_of(decoder.decode(jpegs).tensor)).all()
    refused(decoder, jpegs, out[:4], r"bfloat16 \(4, 3, 48, 64\)")
    refused(decoder, jpegs, out.view(np.uint16), "uint16")
    refused(decoder, jpegs, out.astype(ml_dtypes.float8_e5m2), ".*ndarray")
    refused(decoder, jpegs, np.zeros((5, 3, 48, 128), ml_dtypes.bfloat16)[..., ::2], "memory that is not C-")
    out.flags.writeable = False
    refused(decoder, jpegs, out, "read-only memory")
    refused(tensor_decoder(), jpegs, out, ".*ndarray.*lend")


def test_torch_shares_the_memory(jpegs):
    torch = pytest.importorskip("torch")
    for dtype in ("uint8", "float16", "bfloat16", "float32"):
        decoder = tensor_decoder(dtype=dtype)
        batch = decoder.decode(jpegs, CROPS)
        shared = torch.from_dlpack(batch.tensor)
        assert shared.dtype == getattr(torch, dtype) and tuple(shared.shape) == batch.tensor.shape
        out = torch.zeros(batch.tensor.shape, dtype=shared.dtype)
        crops, flips = torch.tensor(CROPS), torch.zeros(5, dtype=bool)
        assert decoder.decode(jpegs, crops, flips, out=out).tensor is out
        assert torch.equal(out, shared)
        with pytest.raises(framewire.InvalidInput, match="C-contiguous"):
            decoder.decode(jpegs, out=out.transpose(0, 1).contiguous().transpose(0, 1))
    last = torch.zeros(5, 3, 48, 64).to(memory_format=torch.channels_last)
    tensor_decoder(layout="NHWC").decode(jpegs, CROPS, out=last.permute(0, 2, 3, 1))
    assert torch.equal(last, torch.from_dlpack(tensor_decoder().decode(jpegs, CROPS).tensor))
    # Strides of sides of 1 say nothing.
    tensor_decoder((1, 1)).decode(jpegs, out=torch.zeros(5, 3, 1, 1).to(memory_format=torch.channels_last))
    assert tensor_decoder().decode([], out=torch.zeros(0, 3, 48, 64)).ok == []


def test_threads_share_a_decoder(jpegs, pixels):
    decoder = tensor_decoder(dtype="uint8", layout="NHWC")
    wrong = []

    def work(at):
        for _ in range(20):
            count = 1 + at % len(jpegs)
            batch = decoder.decode([*jpegs[:count], b"bad"], [*CROPS[:count], None])
            if batch.ok != [True] * count + [False] or (batch.tensor.numpy()[:count] != pixels[:count]).any():
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="this Python has no GIL")
def test_the_gil_is_released():
    decoder = tensor_decoder((224, 224), threads=1)
    large = [make_jpeg(3000, 2000)] * 6
    done = threading.Event()
    thread = threading.Thread(target=lambda: (decoder.decode(large), done.set()))
    thread.start()
    steps = 0
    while not done.is_set():
        done.wait(0.001)
        steps += 1
    thread.join()
    assert steps > 20


def test_inputs_are_held_and_let_go(jpegs):
    held = bytearray(jpegs[0])
    decoder = tensor_decoder()
    decoder.decode([held])
    held.append(0)  # no buffer is left
    with pytest.raises(framewire.InvalidInput):
        decoder.decode([held], [(1, 2, 3)])
    held.append(0)
    out = bytearray(3 * 48 * 64 * 4)
    decoder.decode([held], out=memoryview(out).cast("B").cast("f", (1, 3, 48, 64)))
    with pytest.raises(framewire.InvalidInput):
        decoder.decode([held], out=memoryview(out).cast("B").cast("f", (1, 3, 64, 48)))
    gc.collect()
    out.append(0)


PREPARE = """
import framewire, gc, io, os, sys
from PIL import Image
out = io.BytesIO(); Image.effect_noise((320, 240), 90).save(out, "JPEG"); jpegs = [out.getvalue()] * 6
decoder = framewire.TensorDecoder((64, 48), dtype="uint8", threads=3)
"""


@skip_under(["tsan"], "ThreadSanitizer knows no threads that a child starts after fork()")
@pytest.mark.parametrize("begun", [False, True])
def test_fork_is_detected(begun):
    done = run(PREPARE + f"""
tensor = decoder.decode(jpegs if {begun} else []).tensor
pid = os.fork()
if pid == 0:
    try: decoder.decode(jpegs)
    except framewire.EngineClosed as error: assert "fork" in str(error), error
    else: os._exit(3)
    own = framewire.TensorDecoder((64, 48), dtype="uint8", threads=3).decode(jpegs).tensor
    if {begun} and bytes(own) != bytes(tensor): os._exit(4)
    del decoder, tensor
    gc.collect()
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert all(decoder.decode(jpegs).ok)
print("parent goes on")
""")
    assert (done.returncode, done.stdout) == (0, "parent goes on\n"), done.stderr


@skip_under(["tsan"], "ThreadSanitizer knows no threads that a child starts after fork()")
def test_fork_is_detected_in_a_child_of_the_same_number():
    """Containers begin to count anew, so that a process and its child may both be number 1."""
    done = run(PREPARE + """
import ctypes
NEW_PIDS = 0x20000000  # CLONE_NEWPID
unshare = ctypes.CDLL(None).unshare
if unshare(NEW_PIDS) != 0: sys.exit("not permitted")
def run_in_child(work):
    pid = os.fork()
    if pid == 0:
        assert os.getpid() == 1
        os._exit(work())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def inner(decoder):
    try: decoder.decode(jpegs)
    except framewire.EngineClosed as error: return 0 if "fork" in str(error) else 3
    return 4
def outer():
    decoder = framewire.TensorDecoder((64, 48), threads=2)
    unshare(NEW_PIDS)
    return run_in_child(lambda: inner(decoder))
sys.exit(run_in_child(outer))
""")
    if "not permitted" in done.stderr:
        pytest.skip("only root may have processes counted anew")
    assert done.returncode == 0, done.stderr


def test_a_decoder_left_over_does_not_hold_up_the_exit():
    done = run(PREPARE + """
import threading
threading.Thread(target=lambda: [decoder.decode(jpegs) for _ in range(10**6)], daemon=True).start()
decoder.decode(jpegs)
""")
    assert (done.returncode, done.stderr) == (0, "")


@skip_under(["asan"], "AddressSanitizer keeps what is freed for a while")
def test_no_memory_and_no_thread_is_left_behind():
    done = run(PREPARE + """
import numpy, resource
def some(count):
    for i in range(count):
        batch = decoder.decode([*jpegs, b"bad"], [(0, 0, 64, 64)] * 7, [True] * 7)
        view = numpy.from_dlpack(batch.tensor)
        batch.tensor.__dlpack__(); batch.tensor.__dlpack__(max_version=(1, 0))
        decoder.decode([*jpegs, b"bad"], out=view)
        framewire.random_resized_crops([(64, 64)] * 50, i, 0, range(50))
        for wrong in ({"out": view[0]}, {"crops": [1]}, {"flips": [1]}):
            try: decoder.decode([*jpegs, b"bad"], **wrong)
            except Exception: pass
def resident(): return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
def threads(): return len(os.listdir("/proc/self/task"))
some(100)
before = resident()
some(900)
after = resident()
alive = threads()
for _ in range(20): framewire.TensorDecoder((9, 9), threads=4).decode(jpegs)
assert threads() == alive, threads()
print((after - before) >> 10)
assert after - before < 4 << 20
""")
    assert done.returncode == 0, done.stdout + done.stderr


def test_errors_hold_no_batch(jpegs):
    """Neither by a cycle nor by the frames of their tracebacks."""

    class Input(bytearray):
        pass

    gc.disable()
    try:
        inputs = [Input(jpegs[0]), Input(b"no JPEG")]
        gone = [weakref.ref(one) for one in inputs]
        errors = framewire.sizes(inputs, on_error="return")
        del inputs
        assert isinstance(errors[1], framewire.InvalidInput) and errors[1].__traceback__ is None
        assert [reference() for reference in gone] == [None, None]

        decoder = tensor_decoder(on_error="raise")
        inputs = [Input(jpegs[0]), Input(b"no JPEG")]
        out = np.empty((2, 3, 48, 64), "f")
        gone = [weakref.ref(one) for one in (*inputs, out)]
        try:
            decoder.decode(inputs, out=out)
        except framewire.InvalidInput as error:
            kept = error
        del inputs, out
        assert kept.index == 1
        kept.__traceback__.tb_frame  # which is this one's: the caller's
        assert [reference() for reference in gone] == [None] * 3
    finally:
        gc.enable()
