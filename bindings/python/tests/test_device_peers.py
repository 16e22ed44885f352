"""Batches on a GPU shared with PyTorch and CuPy; skipped where they are not, or have no GPU."""

import gc

import framewire
import numpy as np
import pytest
from conftest import CROPS, make_jpeg, tensor_decoder

SHAPE = (5, 3, 48, 64)
FLIPS = [False, True, False, True, True]
SPIN_CYCLES = 200_000_000  # of the GPU's clock: some 100 ms


@pytest.fixture
def torch(gpu):
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("torch has no CUDA here")
    return module


@pytest.fixture
def cupy(gpu):
    module = pytest.importorskip("cupy")
    if not module.cuda.is_available():
        pytest.skip("CuPy has no CUDA here")
    return module


def device_decoder(size=(64, 48), device=0, **options):
    return framewire.TensorDecoder(size, device=device, **options)


def test_torch_takes_batches(torch, jpegs):
    for dtype in ("uint8", "float16", "bfloat16", "float32"):
        batch = device_decoder(dtype=dtype).decode(jpegs, CROPS, FLIPS)
        taken = torch.from_dlpack(batch.tensor)
        assert (taken.device, taken.dtype) == (torch.device("cuda:0"), getattr(torch, dtype))
        assert taken.data_ptr() == torch.from_dlpack(batch.tensor).data_ptr()
        wanted = torch.from_dlpack(tensor_decoder(dtype=dtype).decode(jpegs, CROPS, FLIPS).tensor)
        level = 1 if dtype == "uint8" else 1 / 255
        difference = (taken.float().cpu() - wanted.float()).abs()
        assert difference.max() <= 3.1 * level + (2**-9 if dtype == "bfloat16" else 0)
        assert difference.mean() < 0.5 * level
    array = torch.as_tensor(device_decoder().decode(jpegs, CROPS).tensor, device="cuda")
    assert array.device.type == "cuda" and tuple(array.shape) == SHAPE


def test_batches_go_to_torch_memory(torch, jpegs):
    for dtype in ("uint8", "float16", "bfloat16", "float32"):
        decoder = device_decoder(dtype=dtype)
        out = torch.zeros(SHAPE, dtype=getattr(torch, dtype), device="cuda")
        assert decoder.decode(jpegs, torch.tensor(CROPS), FLIPS, out=out).tensor is out
        assert torch.equal(out, torch.from_dlpack(decoder.decode(jpegs, CROPS, FLIPS).tensor))
        with pytest.raises(framewire.InvalidInput, match="C-contiguous"):
            decoder.decode(jpegs, out=out.transpose(0, 1).contiguous().transpose(0, 1))
        for other in (out.cpu(), out[1:], out.double(), out.cpu().numpy() if dtype != "bfloat16" else b""):
            with pytest.raises((framewire.InvalidInput, TypeError)):
                decoder.decode(jpegs, out=other)
    last = torch.zeros(SHAPE, device="cuda").to(memory_format=torch.channels_last)
    device_decoder(layout="NHWC").decode(jpegs, CROPS, out=last.permute(0, 2, 3, 1))
    assert torch.equal(last, torch.from_dlpack(device_decoder().decode(jpegs, CROPS).tensor))
    part = torch.zeros(7, *SHAPE[1:], device="cuda")
    device_decoder().decode(jpegs, CROPS, out=part[1:6])
    assert torch.equal(part[1:6], last) and not part[0].any() and not part[6].any()


def test_out_is_written_after_its_stream(torch, jpegs):
    decoder = device_decoder()
    wanted = torch.from_dlpack(decoder.decode(jpegs, CROPS).tensor).clone()
    for stream in (torch.cuda.Stream(), torch.cuda.default_stream()):
        out = torch.full(SHAPE, 7.0, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SPIN_CYCLES)
            before = out.clone()
            decoder.decode(jpegs, CROPS, out=out, stream=stream)
        stream.synchronize()
        assert (before == 7).all() and torch.equal(out, wanted)


def test_two_streams_use_two_decoders(torch, jpegs):
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    decoders = [device_decoder(), device_decoder(fidelity="fast")]
    wanted = [torch.from_dlpack(d.decode(jpegs, CROPS).tensor).clone() for d in decoders]
    torch.cuda.synchronize()
    sums = []
    for turn in range(40):
        stream, decoder = streams[turn % 2], decoders[turn % 2]
        with torch.cuda.stream(stream):
            taken = torch.from_dlpack(decoder.decode(jpegs, CROPS, stream=stream).tensor)
            if turn % 8 < 2:
                torch.cuda._sleep(SPIN_CYCLES // 10)
            sums.append((turn % 2, taken.clone()))
            del taken  # used again by the decoder, once its stream is through
    torch.cuda.synchronize()
    assert all(torch.equal(got, wanted[which]) for which, got in sums)


def test_memory_is_not_written_while_a_stream_reads_it(torch, jpegs):
    decoder = device_decoder()
    wanted = torch.from_dlpack(decoder.decode(jpegs, CROPS).tensor).clone()
    torch.cuda.synchronize()
    for stream in (torch.cuda.Stream(), torch.cuda.default_stream()):
        for named in (stream, None):
            with torch.cuda.stream(stream):
                taken = torch.from_dlpack(decoder.decode(jpegs, CROPS).tensor)
                torch.cuda._sleep(SPIN_CYCLES)
                copied = taken.clone()
                del taken
            gc.collect()
            for _ in range(6):
                decoder.decode(jpegs, stream=named)
            torch.cuda.synchronize()
            assert torch.equal(copied, wanted)


def test_the_caching_allocator_under_pressure(torch):
    files = [make_jpeg(320, 240, seed=seed) for seed in range(8)] * 16
    decoder = device_decoder((224, 224), dtype="float16")
    wanted = torch.from_dlpack(decoder.decode(files).tensor).clone()
    free, _ = torch.cuda.mem_get_info()
    hoard = [torch.empty(64 << 20, dtype=torch.uint8, device="cuda") for _ in range(min(free // (64 << 20) // 2, 200))]
    for turn in range(40):
        out = torch.empty(wanted.shape, dtype=torch.float16, device="cuda")
        noise = torch.full((32 << 20,), float(turn), device="cuda")  # what was freed is used at once
        decoder.decode(files, out=out)
        noise.add_(1)
        assert torch.equal(out, wanted), turn
        del out, noise
        if hoard and turn % 4 == 0:
            hoard.pop()
            torch.cuda.empty_cache()
    assert torch.cuda.mem_get_info()[0] > 0


def test_two_devices(torch, jpegs, two_gpus):
    if not two_gpus or torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    decoders = [device_decoder(device=f"cuda:{i}") for i in (0, 1)]
    batches = [decoder.decode(jpegs, CROPS) for decoder in decoders]
    taken = [torch.from_dlpack(batch.tensor) for batch in batches]
    assert [tensor.device.index for tensor in taken] == [0, 1]
    assert torch.equal(taken[0].cpu(), taken[1].cpu())
    assert torch.cuda.current_device() == 0
    out = torch.zeros(SHAPE, device="cuda:1")
    decoders[1].decode(jpegs, CROPS, out=out, stream=torch.cuda.current_stream(1))
    assert torch.equal(out, taken[1])
    with pytest.raises(framewire.InvalidInput, match="found memory of device 1"):
        decoders[0].decode(jpegs, out=out)
    with torch.cuda.device(1):
        stream = torch.cuda.Stream()
    try:
        decoders[0].decode(jpegs, stream=stream)
    except framewire.InvalidInput as error:
        assert "found a stream of device 1" in str(error)
    else:
        pytest.skip("all but: this CUDA cannot tell whose a stream is")
    with pytest.raises(BufferError, match="found a stream of device 1"):
        batches[0].tensor.__dlpack__(stream=stream.cuda_stream)


def test_cupy_shares_the_memory(cupy, jpegs):
    decoder = device_decoder()
    tensor = decoder.decode(jpegs, CROPS).tensor
    wanted = np.from_dlpack(tensor, device="cpu")
    arrays = [cupy.from_dlpack(tensor), cupy.asarray(tensor)]
    assert arrays[0].data.ptr == arrays[1].data.ptr
    assert all((cupy.asnumpy(array) == wanted).all() for array in arrays)
    out = cupy.zeros(SHAPE, "f")
    assert decoder.decode(jpegs, CROPS, out=out).tensor is out
    assert (cupy.asnumpy(out) == wanted).all()
    with pytest.raises(framewire.InvalidInput, match="C-contiguous"):
        decoder.decode(jpegs, out=cupy.asfortranarray(out))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        other = cupy.zeros(SHAPE, "f")
        decoder.decode(jpegs, CROPS, out=other, stream=stream)
        taken = cupy.from_dlpack(decoder.decode(jpegs, CROPS, stream=stream).tensor)
        same = bool((other == taken).all())
    assert same
    del taken, stream  # the stream is destroyed: its block is freed, not lent again
    for _ in range(6):
        assert (np.from_dlpack(decoder.decode(jpegs, CROPS).tensor, device="cpu") == wanted).all()
