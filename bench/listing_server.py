#!/usr/bin/env python3
"""An object store that lists keys which it makes up: listing_server.py KEYS [ENDING]. Prints its port, and
ends with its standard input. What is asked for by GET, besides listings, is not there.

For memory of long listings, on a machine without a store:
    python3 bench/listing_server.py 1000000 .jpg"""

import pathlib
import sys
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "support"))
import loopback_http  # noqa: E402

PAGE_KEYS = 1000
XML = {"Content-Type": "application/xml"}
keys = int(sys.argv[1])
ending = sys.argv[2] if len(sys.argv) > 2 else ".jpg"


def page(prefix, first):
    last = min(first + PAGE_KEYS, keys)
    entries = "".join(
        "<Contents><Key>%s%04d/%09d%s</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        '<ETag>"%032x"</ETag><Size>%d</Size></Contents>'
        % (urllib.parse.quote(prefix), i // PAGE_KEYS, i, ending, i, 100_000 + i % 1000)
        for i in range(first, last))
    more = last < keys
    token = "<NextContinuationToken>%d</NextContinuationToken>" % last if more else ""
    return ('<?xml version="1.0"?><ListBucketResult><IsTruncated>%s</IsTruncated>%s%s'
            "</ListBucketResult>" % (str(more).lower(), token, entries)).encode()


class Listing(loopback_http.Handler):
    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        if "list-type" not in query:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>", XML)
        prefix = query.get("prefix", [""])[0]
        first = int(query.get("continuation-token", ["0"])[0])
        after = query.get("start-after", [""])[0]
        if after:
            first = int(after.rsplit("/", 1)[1].split(".")[0]) + 1
        return self.answer(200, page(prefix, first), XML)


loopback_http.serve(Listing)
