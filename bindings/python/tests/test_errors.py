import copy
import pickle

import framewire
import pytest
from conftest import make_jpeg

CLASSES = {
    "invalid_input": framewire.InvalidInput,
    "unsupported": framewire.Unsupported,
    "too_large": framewire.TooLarge,
    "busy": framewire.Busy,
    "deadline": framewire.DeadlineExceeded,
    "io_error": framewire.IoError,
    "device_lost": framewire.DeviceLost,
    "peer_lost": framewire.PeerLost,
    "denied": framewire.Denied,
    "internal": framewire.Internal,
    "cancelled": framewire.Cancelled,
}


def test_every_code_has_its_class():
    from framewire._errors import from_status

    for code, kind in CLASSES.items():
        error = from_status(code, "found this", 7, "that")
        assert type(error) is kind and error.code == code
        assert str(error) == "that: found this (at byte 7)"
    subclasses = set(framewire.Error.__subclasses__())
    assert subclasses == {*CLASSES.values(), framewire.UnknownOption, framewire.EngineClosed}


def lossless():
    """A baseline file whose frame header says SOF3."""
    jpeg = bytearray(make_jpeg(32, 32))
    jpeg[jpeg.index(b"\xff\xc0") + 1] = 0xC3
    return bytes(jpeg)


@pytest.mark.parametrize(
    "jpeg, options, kind",
    [
        (b"", {}, framewire.InvalidInput),
        (b"no JPEG", {}, framewire.InvalidInput),
        (make_jpeg(32, 32)[:30], {}, framewire.InvalidInput),
        (lossless(), {}, framewire.Unsupported),
        (make_jpeg(32, 32), {"codec": "cuda"}, framewire.Unsupported),
        (make_jpeg(32, 32), {"max_input_pixels": 1000}, framewire.TooLarge),
        (make_jpeg(32, 32), {"max_input_bytes": 100}, framewire.TooLarge),
        (make_jpeg(32, 32), {"max_output_side": 31, "always_encode": True}, framewire.TooLarge),
    ],
)
def test_errors_come_as_their_class(jpeg, options, kind):
    with pytest.raises(framewire.Error) as caught:
        framewire.resize(jpeg, **options)
    assert type(caught.value) is kind and caught.value.message


def test_a_deadline_that_passes(slow_photo):
    with pytest.raises(framewire.DeadlineExceeded):
        framewire.resize(slow_photo, deadline=1)


def test_an_offset_is_told():
    with pytest.raises(framewire.InvalidInput) as caught:
        framewire.resize(b"\xff\xd8\xff\xe0\x00")
    assert caught.value.offset is not None
    assert f"(at byte {caught.value.offset})" in str(caught.value)


def test_errors_and_answers_pickle(photo):
    error = framewire.TooLarge("much", offset=3, subject="size", index=5)
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(same) is framewire.TooLarge and str(same) == str(error)
        assert (same.message, same.offset, same.subject, same.index) == ("much", 3, "size", 5)
    assert "framewire.TooLarge" in repr(framewire.TooLarge)
    result = framewire.resize_with_report(photo, size="32x")
    same = pickle.loads(pickle.dumps(result))
    assert (same.jpeg, same.report, same.index) == (result.jpeg, result.report, None)


def test_options_are_called_by_their_keywords(photo):
    """Also where the file, not the option's value, is what is wrong."""
    with framewire.Engine(codec="turbo", threads=1) as engine:
        for call in (framewire.resize, engine.resize, lambda jpeg, **own: next(engine.map([jpeg], **own))):
            with pytest.raises(framewire.TooLarge) as caught:
                call(photo, max_output_side=31, always_encode=True)
            assert caught.value.subject == "max_output_side"
