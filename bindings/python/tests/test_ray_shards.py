"""Names of shards of Ray jobs, and their groups."""

import os
import re

import pytest
from framewire.ray_shards import Group, expand, group_shards, list_entry, name_in_list, without_queries


def test_words_stand_for_shards(tmp_path):
    assert expand(["a-{08..11}.tar"]) == ["a-08.tar", "a-09.tar", "a-10.tar", "a-11.tar"]
    assert expand(["{2..0}.tar", "{a,b}/{0..1}.tar"]) == [
        "2.tar", "1.tar", "0.tar", "a/0.tar", "a/1.tar", "b/0.tar", "b/1.tar"]
    assert expand(["{9..11}.tar"]) == ["9.tar", "10.tar", "11.tar"]
    assert expand(["{0..5..2}.tar", "{09..7..-2}.tar"]) == ["0.tar", "2.tar", "4.tar", "09.tar", "07.tar"]
    assert expand(["{a-{0..1},{b}}.tar"]) == ["a-0.tar", "a-1.tar", "{b}.tar"]
    assert expand(["{x{a,b}}.tar", "{a,{c}.tar"]) == ["{xa}.tar", "{xb}.tar", "{a,{c}.tar"]
    with pytest.raises(ValueError):
        expand(["{a," * 100 + "}" * 100 + ".tar"])
    assert expand(["s3://b/{0..1}.tar"]) == ["s3://b/0.tar", "s3://b/1.tar"]
    for name in ("1.tar", "0.tar", "x.txt"):
        (tmp_path / name).touch()
    assert expand([f"{tmp_path}/*.tar"]) == [f"{tmp_path}/0.tar", f"{tmp_path}/1.tar"]
    (tmp_path / "list").write_text("x/{1}.tar\r\n\ny.tar\n")
    assert expand([f"@{tmp_path}/list"]) == ["x/{1}.tar", "y.tar"]
    (tmp_path / "list").write_text("x/{1..2}.tar\n")  # as framewire batch has it
    assert expand([f"@{tmp_path}/list"]) == ["x/1.tar", "x/2.tar"]
    (tmp_path / "list").write_bytes(b"\xef\xbb\xbfx/*.tar\r\n\n[a]\r?.tar\n\xff.tar")
    assert expand([f"@{tmp_path}/list"]) == ["x/*.tar", "[a]\r?.tar", os.fsdecode(b"\xff.tar")]
    for bad in (["a.zip"], ["a.tar", "a.tar"], [f"{tmp_path}/z*.tar"], ["s3://b/*.tar"], ["s3://b/?.tar"]):
        with pytest.raises(ValueError):
            expand(bad)


def test_a_file_of_just_that_name_is_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a[1].tar", "a1.tar", "a*.tar", "b{0,1}.tar", "@c.tar", "x[1]y.tar"):
        (tmp_path / name).touch()
    for name in ("a[1].tar", "a*.tar", "b{0,1}.tar"):
        assert expand([name]) == [name]
        (tmp_path / "list").write_text(name)
        assert expand(["@list"]) == [name]
    assert expand(["a?.tar", "@c.tar"]) == ["a*.tar", "a1.tar", "@c.tar"]
    # '[' has no meaning for the program, whether or not there is such a file.
    assert expand(["[a]{1,2}.tar"]) == ["[a]1.tar", "[a]2.tar"]
    assert expand(["x[1]*.tar"]) == ["x[1]y.tar"]


@pytest.mark.parametrize("content, says", [
    (b"a.tar\0b.tar\0", "list: line 1 holds a NUL byte; accepted: one name a line"),
    (b"a.tar\nb\0.tar\n", "list: line 2 holds a NUL byte"),
    (b"\xff\xfea\0.\0t\0a\0r\0", "list: is written in UTF-16; accepted: UTF-8"),
    (b"a.tar\n" + b"a" * 5000 + b".tar\n", "list: entry 2 is longer than 4096 bytes"),
    (b"  \n", "  : is no shard"),
])
def test_lists_that_batch_refuses_are_refused(tmp_path, content, says):
    (tmp_path / "list").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(says)):
        expand([f"@{tmp_path}/list"])


SIGNATURE = "?X-Amz-Credential=key/aws4&X-Amz-Signature="


def test_signed_addresses_stand_for_shards():
    """A '?' begins their query, which may hold anything, and is no part of their names."""
    signed = [f"https://[::1]:8/in/{i}.tar{SIGNATURE}{i}*/x.tar" for i in range(2)]
    assert expand(signed) == signed
    assert expand(["https://h/{0..1}.tar?a=*"]) == ["https://h/0.tar?a=*", "https://h/1.tar?a=*"]
    assert expand(["s3://b/[0].tar"]) == ["s3://b/[0].tar"]
    assert group_shards([f"HTTPS://H/in/a/0.tar{SIGNATURE}/x", f"https://h/in/1.tar{SIGNATURE}/y"], "/out", 9) == [
        Group((f"HTTPS://H/in/a/0.tar{SIGNATURE}/x",), "/out/a"),
        Group((f"https://h/in/1.tar{SIGNATURE}/y",), "/out")]


@pytest.mark.parametrize("words, says", [
    (["https://h/0.jpg?sig=SECRET.tar"], "https://h/0.jpg: is no shard; accepted"),
    (["https://h/0.tar?sig=SECRET", "HTTPS://H/0.tar?sig=2SECRET"], "https://h/0.tar: is named twice"),
    (["https://h/*.tar?sig=SECRET"], "https://h/*.tar: patterns in URLs are not looked up; accepted"),
    (["https://me:SECRET@h/0.tar"], "the address has a user in it; accepted"),
])
def test_refusals_show_no_query(words, says):
    with pytest.raises(ValueError, match=re.escape(says)) as raised:
        expand(words)
    assert "SECRET" not in str(raised.value)


def test_what_others_say_shows_no_query():
    shards = [f"https://h/0.tar{SIGNATURE}SECRET", "out/what?.tar"]
    assert without_queries(f"{shards[0]}: no; {shards[1]}: no", shards) == (
        "https://h/0.tar: no; out/what?.tar: no")


def test_groups_keep_the_names_of_outputs():
    assert group_shards([], "out", 4) == []
    assert group_shards(["/in/0.tar", "/in/1.tar", "/in/2.tar"], "/out/", 2) == [
        Group(("/in/0.tar", "/in/1.tar"), "/out"), Group(("/in/2.tar",), "/out")]
    assert group_shards(["/in/a/0.tar", "/in/b/c/0.tar", "/in/a/1.tar"], "/out", 2) == [
        Group(("/in/a/0.tar", "/in/a/1.tar"), "/out/a"), Group(("/in/b/c/0.tar",), "/out/b/c")]
    assert group_shards(["s3://b/in/a/0.tar", "s3://b/in/0.tar"], "s3://c/out", 9) == [
        Group(("s3://b/in/a/0.tar",), "s3://c/out/a"), Group(("s3://b/in/0.tar",), "s3://c/out")]


def test_lists_keep_the_names_that_they_have():
    shards = ["/d/in/a/0.tar", "/d/in/a/1.tar"]
    assert group_shards(shards, "/out", 9) == [Group(tuple(shards), "/out")]
    names = [name_in_list("in/a/0.tar"), name_in_list("./in/./a/1.tar")]
    assert group_shards(shards, "/out", 9, names) == [
        Group(("/d/in/a/0.tar",), "/out/in/a"), Group(("/d/in/a/1.tar",), "/out/a")]
    with pytest.raises(ValueError):
        name_in_list("../0.tar")
    for size in (1, 9):
        with pytest.raises(ValueError, match="named twice"):
            group_shards(["/d/a/0.tar", "/d/b/0.tar"], "/out", size,
                         [name_in_list("d/a/./0.tar"), name_in_list("d/b/./0.tar")])


def test_a_group_is_named_by_its_folder():
    assert list_entry("/d/in/a/0.tar") == "/d/in/a/./0.tar"
    assert list_entry("https://h/in/a/0.tar?s=/x") == "https://h/in/a/0.tar?s=/x"
