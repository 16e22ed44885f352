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
  | XMP-hdrgm: | XMP-(G?Container): | XMP-x: | HDRGainMap | JUMBF
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
  | ^(ExifIFD|XMP-exif):Subject(Area|Location)$
  | XMP-(mwg-rs|MP1?|acdsee-rs|apple-fi|GPano): | ^(Panasonic|FujiFilm):Face  # of turned pictures
""", re.VERBOSE)

# keep: what says something else of the output than of the input.
CORRECTED = re.compile(r"""
    IFD0:(Orientation|ImageWidth|ImageHeight)$ | ExifIFD:(ExifImageWidth|ExifImageHeight|ColorSpace)$
  | InteropIFD:(InteropIndex|RelatedImage.*)$ | XMP-tiff:(Orientation|ImageWidth|ImageHeight)$
  | XMP-exif:(ExifImageWidth|ExifImageHeight|PixelXDimension|PixelYDimension|ColorSpace)$
  | XMP-(G?Container): | .*:(MakerNoteOffset|.*Offset|ImageWidth|ImageHeight)$
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
    """{path below folder: {"Group:Tag": [values]}}"""
    done = subprocess.run(["exiftool", "-q", "-q", "-r", "-j", "-G1:4", "-a", "-u", "-n", "-ext", "*",
                           str(folder)], capture_output=True, check=False)
    rows = json.loads(done.stdout.decode(errors="replace") or "[]")
    found = {}
    for row in rows:
        tags = {}
        for name, value in row.items():  # Group:Tag, or Group:Copy1:Tag for one met again
            parts = name.split(":")
            tags.setdefault(f"{parts[0]}:{parts[-1]}", []).append(value)
        found[os.path.relpath(row["SourceFile"], folder)] = tags
    return found


def pictures_within(data):
    """Where segments before the picture hold another, and how many JPEG streams lie behind them."""
    found = []
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] not in (0xDA, 0xD9):
        end = at + 2 + int.from_bytes(data[at + 2:at + 4], "big")
        payload = data[at + 4:end]
        # A profile's numbers and a density may look like the beginning of a picture.
        if not payload.startswith((b"ICC_PROFILE\0", b"JFIF\0")):
            found += [at + 4 + m.start() for m in re.finditer(SOI, payload, re.DOTALL)]
            found += [at + 4 + m.start() for m in re.finditer(rb"/9j/[A-Za-z0-9+/]{60}", payload)]
        at = end
    return found, len(re.findall(SOI, data[at:], re.DOTALL))


def check_keep(source, output):
    errors = []
    for name, values in source.items():
        if SHOWN.match(name) or GONE.search(name):
            continue
        if name not in output:
            errors.append(f"{name} is gone")
        elif not CORRECTED.match(name) and any(value not in output[name] for value in values):
            errors.append(f"{name} was {str(values)[:60]} and is {str(output[name])[:60]}")
    return errors


def check_copyright(source, output):
    errors = [f"{name} has no place there" for name in output
              if not SHOWN.match(name) and not RIGHTS.match(name)]
    owned = any(name in source for name in ("IPTC:By-line", "IPTC:Credit", "IPTC:CopyrightNotice"))
    for name, values in source.items():
        if not RIGHTS.match(name) or (name == "IPTC:CodedCharacterSet" and not owned):
            continue
        for value in values:
            if str(value).strip() and value not in output.get(name, []):
                errors.append(f"{name} is {output.get(name)}, not {value!r}")
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
                if appended > 1 or appended and not any(name.startswith("MPImage") for name in tags):
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
