import decimal
import gc
import weakref

import framewire
import numpy
import pytest
from framewire import _framewire, _keywords, _options


def text(**keywords):
    return repr(_options.parse(keywords))


def test_every_option_of_the_grammar_is_a_typed_keyword():
    names = {option.name for option in framewire.options()}
    assert set(_keywords.ResizeOptions.__annotations__) == names | {"auto_orient"}
    assert len(names) == len(_framewire.option_specs()) > 30
    for option in framewire.options():
        if not option.metavar:
            _options.parse({option.name: True})
        elif option.default:
            _options.parse({option.name: option.default})


def accepted(**keywords):
    try:
        text(**keywords)
    except framewire.InvalidInput:
        return False
    return True


@pytest.mark.parametrize(
    "keywords, expected",
    [
        ({"size": (480, 270)}, "size=480x270"),
        ({"size": numpy.int64(480)}, "size=480x"),
        ({"crop": (0.5, None)}, "crop=0.5x"),
        ({"zoom": (0.5, 2)}, "zoom=0.5x2"),
        ({"dpr": numpy.float32(0.5)}, "dpr=0.5"),
        ({"dpr": decimal.Decimal("1.5")}, "dpr=1.5"),
        ({"gravity": ("noea", 10, 20)}, "gravity=noea:10:20"),
        ({"background": (1, 2, 255), "size": "3x3"}, "size=3x3 background=0102ff"),
        ({"padding": 5}, "padding=5"),
        ({"strict": False, "progressive": True}, "progressive=true"),
        ({"quality": True}, None),
        ({"quality": 80.5}, None),
        ({"quality": None}, ""),
        ({"max_bytes": "8k"}, "max-bytes=8k"),
    ],
)
def test_values_are_written_as_the_grammar_has_them(keywords, expected):
    if expected is None:
        with pytest.raises(framewire.InvalidInput):
            text(**keywords)
    else:
        assert text(**keywords) == f"Options({expected})"


def test_equal_values_of_other_types_are_not_taken_for_each_other():
    assert text(quality=1) == "Options(quality=1)"
    with pytest.raises(framewire.InvalidInput):
        text(quality=True)
    assert text(rotate=0) == "Options()"
    with pytest.raises(framewire.InvalidInput):
        text(rotate=False)
    assert accepted(size=(33, None)) and not accepted(size=(33.0, None))
    assert not accepted(size=(44.0, None)) and accepted(size=(44, None))
    assert not accepted(size=(1, True)) and accepted(size=(1, 1))


class Slider:
    """A number that changes, and has a hash all the same, as tensors of torch have."""

    def __init__(self, position):
        self.position = position

    def __index__(self):
        return self.position


def test_a_value_that_changes_is_read_anew_and_not_kept():
    slider = Slider(90)
    for wrap in (lambda: {"quality": slider}, lambda: {"padding": (slider, 1)}):
        slider.position = 90
        assert "90" in text(**wrap())
        slider.position = 5
        assert "5" in text(**wrap()) and "90" not in text(**wrap())
    gone = weakref.ref(slider)
    del slider, wrap
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "keyword, near", [("sise", "size"), ("Quality", "quality"), ("no-auto-orient", "no_auto_orient")]
)
def test_an_unknown_option_names_the_nearest(photo, keyword, near):
    with pytest.raises(framewire.UnknownOption, match=f"did you mean {near}") as caught:
        framewire.resize(photo, **{keyword: 1})
    assert isinstance(caught.value, TypeError) and caught.value.subject == keyword
    assert not isinstance(caught.value, framewire.InvalidInput)
    with pytest.raises(framewire.UnknownOption, match="framewire.options"):
        framewire.resize(photo, xyzzy=None)


def test_messages_are_short_and_of_one_line(photo):
    with pytest.raises(framewire.UnknownOption, match="^si.nze: unknown option; did you mean size") as caught:
        framewire.resize(photo, **{"si\nze": 3})
    assert caught.value.subject == r"si\nze"
    for keywords in ({"x" * 100_000: 1}, {"auto_orient": "a" * 100_000}, {"size": (1,) * 50_000}):
        with pytest.raises(framewire.Error) as caught:
            framewire.resize(photo, **keywords)
        assert len(str(caught.value)) < 600 and "…" in str(caught.value)
    with pytest.raises(framewire.InvalidInput) as caught:
        framewire.TensorDecoder().decode([photo], crops=[(1,) * 50_000])
    assert len(str(caught.value)) < 600 and "…;" in str(caught.value)


def test_choices_are_words_alone():
    for option in framewire.options():
        for word in option.choices:
            assert accepted(**{option.name: word}) or option.name in ("extend", "codec"), (option.name, word)
    gravity = next(option for option in framewire.options() if option.name == "gravity")
    assert gravity.choices == () and gravity.metavar.endswith("|ce|fp:X:Y")


@pytest.mark.parametrize(
    "keywords, subject, found, accepted",
    [
        ({"enlarge": ""}, "enlarge", "''", "True or False"),
        ({"strict": ""}, "strict", "''", "True or False"),
        ({"no_auto_orient": ""}, "no_auto_orient", "''", "True or False"),
        ({"size": decimal.Decimal("sNaN")}, "size", "sNaN", "WxH"),
        ({"padding": (1, decimal.Decimal("sNaN"))}, "padding", "sNaN", "a tuple"),
        ({"size": "4y"}, "size", "'4y'", "WxH"),
        ({"size": (1, 2, 3)}, "size", "(1, 2, 3)", "a tuple"),
        ({"quality": 101}, "quality", "'101'", "from 1 to 100"),
        ({"quality": "best"}, "quality", "'best'", "from 1 to 100"),
        ({"quality": (80,)}, "quality", "(80,)", "N"),
        ({"resize": "shrink"}, "resize", "'shrink'", "fill-down"),
        ({"max_output_side": 0}, "max_output_side", "'0'", "65500"),
        ({"strict": 2}, "strict", "'2'", "true or false"),
        ({"background": (1, 2, 256), "size": "2x2"}, "background", "256", "RRGGBB"),
        ({"kernel": object}, "kernel", "class", "lanczos3"),
        ({"auto_orient": "maybe"}, "auto_orient", "maybe", "True or False"),
        ({"auto_orient": True, "no_auto_orient": True}, "auto_orient", "beside", "one of the two"),
        ({"dpr": b"2"}, "dpr", "b'2'", "FACTOR"),
        ({"size": b"480"}, "size", "b'480'", "WxH"),
        ({"dpr": float("nan")}, "dpr", "nan", "100000"),
        ({"size": "9" * 500}, "size", "999", "1000000"),
        ({"size": "\x00\ud800"}, "size", "ud800", "WxH"),
    ],
)
def test_a_wrong_value_names_option_found_and_accepted(photo, keywords, subject, found, accepted):
    with pytest.raises(framewire.InvalidInput) as caught:
        framewire.resize(photo, **keywords)
    assert caught.value.subject == subject and isinstance(caught.value, ValueError)
    assert found in caught.value.message and accepted in caught.value.message


def test_what_only_options_together_tell(photo):
    with pytest.raises(framewire.InvalidInput, match="both sides"):
        framewire.resize(photo, background="ffffff")
