#!/usr/bin/env python3
"""What outputs say about themselves in each metadata mode, with exiftool as judge.

usage: exiftool.py PROGRAM WORK_DIR. Every picture of FRAMEWIRE_CORPUS goes through batch three
times. keep: every tag of the input survives, save those that docs/metadata.md lists; copyright: the
rights and nothing else; strip: nothing but what shows the picture. No output holds a picture within.
Exits with 77 (skipped) where FRAMEWIRE_CORPUS names no folder or exiftool is not installed.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SIZE = "64x64"
SOI = rb"\xff\xd8\xff[\xc0-\xcf\xdb\xda\xdd\xe0-\xef\xfe]"

# What every output has, whatever the mode: how it is coded and how it is shown.
SHOWN = re.compile(r"""
    (SourceFile|ExifTool|File|System|Composite|JFIF|Adobe|APP14|ICC_Profile|ICC-.*|MPF\d|MPImage\d):
  | XMP-hdrgm: | XMP-GContainer: | XMP-x: | HDRGainMap | JUMBF
""", re.VERBOSE)

# Who made the picture and whose it is.
RIGHTS = re.compile(r"""
    IFD0:(Artist|Copyright)$ | XMP-dc:(Rights|Creator)(-.*)?$ | XMP-xmpRights: | XMP-plus: | XMP-cc:
  | XMP-photoshop:(Credit|Copyright) | IPTC:(By-line|Credit|CopyrightNotice|CodedCharacterSet)$
""", re.VERBOSE)

# keep: what goes from the segments that are carried, as docs/metadata.md says.
GONE = re.compile(r"""
    IFD\d: | SubIFD\d*: | PreviewIFD: | ^[^:]*:(Preview|Thumbnail|OtherImage|JpgFromRaw)
  | XMP-(GImage|GDepth|GAudio|xmpGImg|HDRGainMap|apdi): | XMP-xmpNote:HasExtendedXMP
  | XMP-xmp:(Thumbnail|PageImage) | XMP-GCamera:(MicroVideo|MotionPhoto)
  | XMP-photoshop:ICCProfile | Photoshop:(PhotoshopThumbnail|IPTCDigest)
  | IPTC:ObjectPreview | IPTC\d*:SubFile
""", re.VERBOSE)

# keep: what says something else of the output than of the input.
CORRECTED = re.compile(r"""
    IFD0:(Orientation|ImageWidth|ImageHeight)$ | ExifIFD:(ExifImageWidth|ExifImageHeight|ColorSpace)$
  | InteropIFD:(InteropIndex|RelatedImage.*)$ | XMP-tiff:(Orientation|ImageWidth|ImageHeight)$
  | XMP-exif:(ExifImageWidth|ExifImageHeight|PixelXDimension|PixelYDimension|ColorSpace)$
  | XMP-GContainer: | .*:(MakerNoteOffset|.*Offset|ImageWidth|ImageHeight)$
""", re.VERBOSE)


def carried(data):
    """A picture with those of its segments that keep carries: JFIF, EXIF, XMP, APP13, comments."""
    out = bytearray(data[:2])
    seen = set()
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] not in (0xDA, 0xD9):
        end = at + 2 + int.from_bytes(data[at + 2:at + 4], "big")
        code, payload = data[at + 1], data[at + 4:end]
        kind = next((k for k in (b"Exif\0", b"http://ns.adobe.com/xap/1.0/\0") if payload.startswith(k)),
                    None)
        if code == 0xE1:
            wanted = kind is not None and kind not in seen
            seen.add(kind)
        else:
            wanted = not 0xE0 <= code <= 0xEF or code in (0xE0, 0xED, 0xEE)
            if code == 0xE0:
                wanted = payload.startswith(b"JFIF\0")
        if wanted:
            out += data[at:end]
        at = end
    end = data.find(b"\xff\xd9", at)
    return bytes(out + data[at:end + 2 if end > at else len(data)])


def tags_of(folder):
    """{path below folder: {"Group:Tag": value}}; a repeated tag has a number behind its name"""
    done = subprocess.run(["exiftool", "-q", "-q", "-r", "-j", "-G1:4", "-a", "-u", "-n", "-ext", "*",
                           str(folder)], capture_output=True, check=False)
    rows = json.loads(done.stdout.decode(errors="replace") or "[]")
    found = {}
    for row in rows:
        tags = {}
        for name, value in row.items():
            group, copy, tag = (name.split(":") + ["", ""])[:3] if name.count(":") == 2 else (
                name.split(":")[0], "", name.split(":")[-1])
            tags[f"{group}:{tag}" + (copy and f" {copy}")] = value
        found[os.path.relpath(row["SourceFile"], folder)] = tags
    return found


def plain(name):
    return name.split(" ")[0]


def pictures_within(data):
    """Offsets of JPEG streams besides the first, the profile's bytes and a gain map's not counted."""
    skipped = []
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] not in (0xDA, 0xD9):
        length = int.from_bytes(data[at + 2:at + 4], "big")
        if data[at + 4:at + 16] == b"ICC_PROFILE\0":
            skipped.append((at, at + 2 + length))
        at += 2 + length
    head = at
    found = [m.start() for m in re.finditer(SOI, data, re.DOTALL)][1:]
    found = [o for o in found if not any(begin <= o < end for begin, end in skipped)]
    inside = [o for o in found if o < head]
    behind = [o for o in found if o >= head]
    base64 = re.findall(rb"/9j/[A-Za-z0-9+/]{60}", data[:head])
    return inside + behind[1:] + base64, len(behind)


def check_keep(source, output):
    errors = []
    for name, value in source.items():
        tag = plain(name)
        if SHOWN.match(tag) or GONE.search(tag):
            continue
        if name not in output:
            errors.append(f"{name} is gone")
        elif output[name] != value and not CORRECTED.match(tag):
            errors.append(f"{name} was {str(value)[:60]!r} and is {str(output[name])[:60]!r}")
    return errors


def check_copyright(source, output):
    errors = [f"{name} has no place there" for name in output
              if not SHOWN.match(name) and not RIGHTS.match(plain(name))]
    for name, value in source.items():
        if not RIGHTS.match(plain(name)) or not str(value).strip():
            continue
        if plain(name) == "IPTC:CodedCharacterSet" and not any(
                RIGHTS.match(n) and n.startswith("IPTC:By") or n in ("IPTC:Credit", "IPTC:CopyrightNotice")
                for n in source):
            continue
        kept = [v for n, v in output.items() if plain(n) == plain(name)]
        if value not in kept:
            errors.append(f"{name} is {kept}, not {value!r}")
    return errors


def check_strip(_, output):
    return [f"{name} has no place there" for name in output if not SHOWN.match(name)]


def main():
    program, work = sys.argv[1], pathlib.Path(sys.argv[2])
    corpus = os.environ.get("FRAMEWIRE_CORPUS", "")
    if not corpus:
        print("SKIPPED: FRAMEWIRE_CORPUS is unset; it names a folder of pictures")
        return 77
    if not shutil.which("exiftool"):
        print("SKIPPED: exiftool (libimage-exiftool-perl) is not installed")
        return 77
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    corpus = pathlib.Path(corpus)
    folders = [p for p in sorted(corpus.iterdir()) if p.is_dir()]
    errors = []
    sources = {}
    for folder in folders:
        if folder.name == "hostile":  # damaged files: what they say is anybody's guess
            continue
        for path in folder.rglob("*"):
            if path.is_file() and path.read_bytes()[:2] == b"\xff\xd8":
                copy = work / "source" / path.relative_to(corpus)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(carried(path.read_bytes()))
    for path, tags in tags_of(work / "source").items():
        sources[str(corpus / path)] = tags
    for mode, check in (("keep", check_keep), ("copyright", check_copyright), ("strip", check_strip)):
        compared = 0
        for folder in folders:
            target = work / mode / folder.name
            manifest = work / f"{mode}-{folder.name}.jsonl"
            done = subprocess.run([program, "batch", str(folder), str(target), "--size", SIZE,
                                   "--metadata", mode, "--progress", "never", "--manifest",
                                   str(manifest)], capture_output=True, text=True, check=False)
            if done.returncode not in (0, 1):
                errors.append(f"batch {folder}: exits with {done.returncode}: {done.stderr[-500:]}")
                continue
            outputs = tags_of(target)
            for row in map(json.loads, manifest.read_text().splitlines()):
                if row["status"] != "ok":
                    continue
                output = pathlib.Path(row["output"])
                within, appended = pictures_within(output.read_bytes())
                if within:
                    errors.append(f"{mode} {row['input']}: pictures within, at {within[:5]}")
                source = sources.get(str(pathlib.Path(row["input"])))
                tags = outputs.get(os.path.relpath(output, target), {})
                if appended and not any(name.startswith("MPImage") for name in tags):
                    errors.append(f"{mode} {row['input']}: a picture behind that no index names")
                if source is None or any("Error" in name for name in source):
                    continue
                compared += 1
                errors += [f"{mode} {row['input']}: {found}" for found in check(source, tags)]
        print(f"{mode}: {compared} outputs compared")
        if compared == 0:
            errors.append(f"{mode}: nothing was compared")
    print("\n".join(errors[:200]) if errors else "each mode carries what it should")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
