"""Batches in a GPU's memory: on a GPU, or on the emulation of one (./dev python emulation)."""

import ctypes
import gc
import threading

import emulated_cuda
import framewire
import numpy as np
import pytest
from conftest import CROPS, run, tensor_decoder

FLIPS = [False, True, False, True, True]
SHAPE = (5, 3, 48, 64)


@pytest.fixture(autouse=True)
def _needs_a_device(gpu):
    pass


def device_decoder(size=(64, 48), device=0, **options):
    return framewire.TensorDecoder(size, device=device, threads=2, **options)


def host(tensor):
    return np.from_dlpack(tensor, device="cpu")


class CudaArray:
    """What an exporter of __cuda_array_interface__ says of a tensor's memory."""

    def __init__(self, tensor, **other):
        self.tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "version": 2, **other}


class Dlpack:
    def __init__(self, tensor):
        self.tensor, self.streams = tensor, []

    def __dlpack__(self, stream=None, **arguments):
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream, **arguments)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


class OldDlpack(Dlpack):
    def __dlpack__(self, stream=None):
        return super().__dlpack__(stream)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_batches_are_those_of_the_cpu(jpegs, dtype, layout):
    options = {"dtype": dtype, "layout": layout}
    if dtype != "uint8":
        options.update(mean=(0.1, 0.2, 0.3), std=(0.5, 0.4, 0.3))
    files, crops, flips = [*jpegs, b"no picture"], [*CROPS, None], [*FLIPS, False]
    wanted = tensor_decoder(**options).decode(files, crops, flips)
    batch = device_decoder(**options).decode(files, crops, flips)
    tensor = batch.tensor
    assert (tensor.device, tensor.dtype, tensor.shape) == ("cuda:0", dtype, wanted.tensor.shape)
    assert (len(tensor), tensor.nbytes) == (6, wanted.tensor.nbytes)
    assert f"{dtype} {tensor.shape} on cuda:0" in repr(tensor)
    level = 1 if dtype == "uint8" else 1 / 255 / 0.3
    difference = np.abs(host(tensor).astype("f") - wanted.tensor.numpy().astype("f"))
    assert difference.max() <= 3.1 * level and difference.mean() < 0.5 * level
    assert batch.ok == wanted.ok and batch.images == wanted.images
    assert batch.errors[5].index == 5 and not host(tensor)[5].any()


def test_no_images():
    tensor = device_decoder().decode([]).tensor
    assert tensor.shape == (0, 3, 48, 64) and host(tensor).shape == tensor.shape
    assert tensor.__cuda_array_interface__["data"] == (0, False)


def test_what_the_protocols_say(jpegs):
    tensor = device_decoder(dtype="float16").decode(jpegs).tensor
    assert tensor.__dlpack_device__() == (2, 0)
    names = [repr(tensor.__dlpack__(**given)).split('"')[1] for given in (
        {}, {"stream": 1}, {"stream": 2}, {"stream": -1, "max_version": (1, 0)},
        {"max_version": (1, 2), "dl_device": (2, 0), "copy": False},
    )]
    assert names == ["dltensor"] * 3 + ["dltensor_versioned"] * 2
    for wrong, why in (
        ({"stream": 0}, "ambiguous"), ({"stream": -2}, "only -1"), ({"dl_device": (2, 1)}, r"\(2, 0\)"),
        ({"dl_device": (1, 1)}, "dl_device"), ({"copy": True}, "let the consumer"),
        ({"dl_device": (1, 0), "copy": False}, "takes a copy"),
    ):
        with pytest.raises(BufferError, match=why):
            tensor.__dlpack__(**wrong)
    with pytest.raises(TypeError, match="stream"):
        tensor.__dlpack__(stream="legacy")
    for read in (memoryview, lambda tensor: tensor.numpy(), np.asarray):
        with pytest.raises(BufferError, match="GPU's memory"):
            read(tensor)
    facts = tensor.__cuda_array_interface__
    assert facts["data"][0] % 256 == 0 and facts.pop("data")[1] is False
    assert facts == {"shape": SHAPE, "typestr": "<f2", "strides": None, "stream": None, "version": 3}
    assert not hasattr(device_decoder(dtype="bfloat16").decode(jpegs).tensor, "__cuda_array_interface__")
    assert not hasattr(tensor_decoder().decode(jpegs).tensor, "__cuda_array_interface__")


def test_out_takes_what_fits(jpegs):
    for dtype in ("float32", "bfloat16"):
        decoder = device_decoder(dtype=dtype)
        own = decoder.decode(jpegs).tensor
        other = decoder.decode(jpegs, CROPS, FLIPS).tensor
        outs = [own, Dlpack(own), OldDlpack(own)]
        if dtype == "float32":
            strides = tuple(4 * side for side in (3 * 48 * 64, 48 * 64, 64, 1))
            outs += [CudaArray(own), CudaArray(own, strides=strides), CudaArray(own, version=3, stream=1)]
        for out in outs:
            decoder.decode(jpegs, out=out)
            assert decoder.decode(jpegs, CROPS, FLIPS, out=out).tensor is out
            if dtype == "float32":
                assert (host(own) == host(other)).all()
        assert outs[1].streams == [1, 1]
        decoder.decode(jpegs, out=outs[1], stream=2)
        assert outs[1].streams[-1] == 2


def test_wrong_outs_are_named(jpegs, two_gpus):
    decoder = device_decoder()
    tensor = decoder.decode(jpegs).tensor
    plain = np.zeros(SHAPE, "f")
    wrong = [
        (plain, "found memory of the host"),
        (bytearray(5 * 3 * 48 * 64 * 4), "found memory of the host"),
        (tensor_decoder().decode(jpegs).tensor, "found memory of the host"),
        (decoder.decode(jpegs[1:]).tensor, "found float32 (4, 3, 48, 64)"),
        (device_decoder(dtype="float16").decode(jpegs).tensor, "found float16"),
        (device_decoder(layout="NHWC").decode(jpegs).tensor, "found float32 (5, 48, 64, 3)"),
        (CudaArray(tensor, shape=(4, 3, 48, 64)), "found elements of type '<f4' (4, 3, 48, 64)"),
        (CudaArray(tensor, typestr="<i4"), "found elements of type '<i4'"),
        (CudaArray(tensor, data=(tensor.__cuda_array_interface__["data"][0], True)), "read-only"),
        (CudaArray(tensor, strides=(4, 4, 4, 4)), "not C-contiguous"),
        (CudaArray(tensor, mask=plain), "mask"),
    ]
    if two_gpus:
        there = device_decoder(device=1).decode(jpegs).tensor
        assert there.device == "cuda:1" and there.__dlpack_device__() == (2, 1)
        wrong += [(there, "found memory of device 1"), (Dlpack(there), "found memory of device 1")]
    for out, found in wrong:
        with pytest.raises(framewire.InvalidInput) as caught:
            decoder.decode(jpegs, out=out)
        assert found in str(caught.value) and "of device 0, C-contiguous, of float32 (5, 3, 48, 64)" in str(caught.value)
        assert caught.value.subject == "out"
    # Whose memory an address is, CUDA is asked.
    outs = [CudaArray(tensor, data=(plain.ctypes.data, False))]
    if two_gpus:
        outs.append(CudaArray(there))
    for out in outs:
        with pytest.raises(framewire.InvalidInput, match="accepted: memory of device 0") as caught:
            decoder.decode(jpegs, out=out)
        assert caught.value.subject == "out"
    for out in (7, "text", [0.0]):
        with pytest.raises(TypeError, match="^out: found .* accepted: .*__cuda_array_interface__"):
            decoder.decode(jpegs, out=out)
    with pytest.raises(framewire.InvalidInput, match="found memory of device 0; accepted: writable host"):
        tensor_decoder().decode(jpegs, out=tensor)


def test_wrong_streams_are_named(jpegs, two_gpus):
    class Stream:
        def __init__(self, address):
            self.address = address

        def __cuda_stream__(self):
            return 0, self.address

    for stream in (None, 1, 2, Stream(0), Stream(2)):
        assert all(device_decoder().decode(jpegs[:1], stream=stream).ok)
    for stream in (0, -1, True, "default", 1 << 64):
        with pytest.raises(framewire.InvalidInput) as caught:
            device_decoder().decode(jpegs, stream=stream)
        assert caught.value.subject == "stream"
    with pytest.raises(framewire.InvalidInput, match="on the CPU: None"):
        tensor_decoder().decode(jpegs, stream=1)
    if not two_gpus or not emulated_cuda.IS_THERE:
        return  # test_device_peers.py has this with torch's streams
    tensor = device_decoder(device=1).decode(jpegs).tensor
    stream = emulated_cuda.make_stream(0)
    assert all(device_decoder().decode(jpegs, stream=stream).ok)
    with pytest.raises(framewire.InvalidInput, match="found a stream of device 0; accepted: .* device 1"):
        device_decoder(device=1).decode(jpegs, stream=stream)
    with pytest.raises(BufferError, match="found a stream of device 0"):
        tensor.__dlpack__(stream=stream)


def test_the_device_is_named():
    assert device_decoder(device="cuda").device == device_decoder(device="cuda:0").device == "cuda:0"
    assert tensor_decoder().device == "cpu"
    with pytest.raises(framewire.Unsupported, match="found 77; this machine has 0 to ") as caught:
        device_decoder(device=77)
    assert caught.value.subject == "device"


def address(tensor):
    return tensor.__cuda_array_interface__["data"][0]


def test_memory_is_kept_and_used_again(jpegs):
    def make():
        return device_decoder(dtype="uint8", layout="NHWC").decode(jpegs, CROPS).tensor

    wanted = host(make())
    tensor = make()
    capsules = [tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0))]
    del capsules
    gc.collect()
    assert (host(tensor) == wanted).all()
    decoder = device_decoder()
    held = [decoder.decode(jpegs).tensor for _ in range(3)]
    decoder.close()
    with pytest.raises(framewire.EngineClosed, match="closed"):
        decoder.decode(jpegs)
    decoder.close()
    assert (host(held[0]) == host(held[2])).all()
    with device_decoder() as decoder:
        import_of = Dlpack(decoder.decode(jpegs).tensor)
        assert decoder.decode(jpegs[:1], out=decoder.decode(jpegs[:1]).tensor).ok == [True]
    with pytest.raises(framewire.EngineClosed):
        decoder.decode(jpegs)
    assert import_of.tensor.__dlpack__() is not None


def pointer(tensor):
    """The address that DLPack tells to a consumer on the legacy default stream."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = tensor.__dlpack__(stream=1)
    return ctypes.c_void_p.from_address(get(capsule, b"dltensor")).value


def test_dropped_memory_is_lent_again(jpegs):
    decoder = device_decoder()
    first, second = decoder.decode(jpegs).tensor, decoder.decode(jpegs).tensor
    places = {pointer(first), pointer(second)}
    assert len(places) == 2
    del first, second
    for _ in range(6):
        assert pointer(decoder.decode(jpegs).tensor) in places
    # A much smaller batch does not take a large block, nor are blocks kept without end.
    small = decoder.decode(jpegs[:1]).tensor
    assert pointer(small) not in places
    many = [decoder.decode(jpegs).tensor for _ in range(12)]
    del many
    assert all(decoder.decode(jpegs).ok)


def test_the_last_batch_of_an_epoch_takes_a_block_that_is_there(jpegs):
    decoder = device_decoder()
    held = [decoder.decode(jpegs).tensor for _ in range(4)]
    places = {pointer(tensor) for tensor in held}
    for count in (1, 5, 1, 1, 5):
        del held[0]
        held.append(decoder.decode(jpegs[:count]).tensor)
        assert pointer(held[-1]) in places


on_the_emulation = pytest.mark.skipif(
    not emulated_cuda.IS_THERE, reason="needs the emulation's streams; with torch's: test_device_peers.py"
)


@on_the_emulation
def test_a_consumer_in_a_stream_is_waited_for(jpegs):
    decoder = device_decoder()
    sink, wanted = decoder.decode(jpegs).tensor, decoder.decode(jpegs, CROPS).tensor
    there, expected = address(sink), host(wanted)
    stream = emulated_cuda.make_stream(0)
    for named in (stream, 1):
        tensor = decoder.decode(jpegs, CROPS).tensor
        place = pointer(tensor)
        tensor.__dlpack__(stream=stream)  # taken over, and let go of while the work is under way
        emulated_cuda.copy(there, place, tensor.nbytes, stream)
        del tensor
        again = [decoder.decode(jpegs, stream=named).tensor for _ in range(4)]
        emulated_cuda.synchronize(stream)
        assert (host(sink) == expected).all()
        assert len({pointer(tensor) for tensor in again}) == 4
        again.clear()


@on_the_emulation
def test_out_is_written_after_the_stream(jpegs):
    decoder = device_decoder()
    out, old = decoder.decode(jpegs).tensor, decoder.decode(jpegs, CROPS).tensor
    sink, expected = decoder.decode(jpegs).tensor, host(out).copy()
    stream = emulated_cuda.make_stream(0)
    emulated_cuda.copy(address(sink), address(out), out.nbytes, stream)
    decoder.decode(jpegs, CROPS, out=out, stream=stream)
    emulated_cuda.synchronize(stream)
    assert (host(sink) == expected).all() and (host(out) == host(old)).all()


def test_threads_share_a_decoder(jpegs):
    decoder = device_decoder(dtype="uint8")
    pixels = host(decoder.decode(jpegs, CROPS).tensor)
    wrong = []

    def work(at):
        for _ in range(4):
            count = 1 + at % len(jpegs)
            batch = decoder.decode(jpegs[:count], CROPS[:count])
            if not all(batch.ok) or (host(batch.tensor) != pixels[:count]).any():
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


PREPARE = """
import framewire, gc, io, os, sys
from PIL import Image
out = io.BytesIO(); Image.effect_noise((96, 64), 90).save(out, "JPEG"); jpegs = [out.getvalue()] * 3
decoder = framewire.TensorDecoder((64, 48), device=0, dtype="uint8", threads=2)
"""


def test_fork_is_detected():
    done = run(PREPARE + """
tensor, dropped = decoder.decode(jpegs).tensor, decoder.decode(jpegs).tensor
pid = os.fork()
if pid == 0:
    del dropped
    try: decoder.decode(jpegs)
    except framewire.EngineClosed as error: assert "fork" in str(error), error
    else: os._exit(3)
    decoder.close()
    del decoder, tensor
    gc.collect()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert all(decoder.decode(jpegs, out=tensor).ok)
print("parent goes on")
""")
    assert (done.returncode, done.stdout) == (0, "parent goes on\n"), done.stderr


def test_no_memory_is_left_behind():
    done = run(PREPARE + """
def some(count):
    for i in range(count):
        tensor = decoder.decode(jpegs).tensor
        if i % 3: tensor.__dlpack__(stream=1, max_version=(1, 0))
        if i % 5 == 0: tensor.__cuda_array_interface__
        decoder.decode([*jpegs, b"bad"])
        for wrong in ({"out": tensor.__dlpack__()}, {"out": bytearray(3)}, {"stream": 0}, {"crops": [1]}):
            try: decoder.decode(jpegs[:2], **wrong)
            except Exception: pass
def resident(): return int(open("/proc/self/statm").read().split()[1]) * 4096
some(COUNT // 8)
before = resident()
some(COUNT)
print((resident() - before) >> 10)
assert resident() - before < LEEWAY
for _ in range(5):
    held = framewire.TensorDecoder((64, 48), device=0, threads=1).decode(jpegs).tensor
del decoder  # the batch outlives it, to the end of the process
""".replace("COUNT", "16" if emulated_cuda.IS_THERE else "800")
    # The emulation runs under AddressSanitizer, which keeps freed memory for a while.
    .replace("LEEWAY", "64 << 20" if emulated_cuda.IS_THERE else "4 << 20"))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr

