"""A web server on loopback for the tests: web_server.py FOLDER. Prints its port, and ends with its standard
input. Below / it serves files with ranges, below /whole/ without, below /short/ with a length that is too
large. Below /moved/ it redirects to where they are, and below /loop/ to itself. Each third answer to GET is 503
below /busy/, and each one below /down/; 403 is each one below /signed/ to a query that is not "X-Amz-Credential=key/aws4&X-Amz-Signature="
and the path's last name, as a signature is another for each object."""

import itertools
import os
import re
import sys
import urllib.parse

import loopback_http

folder = sys.argv[1]
asked = itertools.count()


class Files(loopback_http.Handler):
    def do_HEAD(self):
        self.serve(False)

    def do_GET(self):
        self.serve(True)

    def serve(self, body):
        split = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(split.path)
        how, _, rest = path[1:].partition("/")
        if how not in ("whole", "short", "moved", "loop", "busy", "signed", "down"):
            how, rest = "", path[1:]
        if how == "signed" and split.query != (
                "X-Amz-Credential=key/aws4&X-Amz-Signature=" + os.path.basename(path)):
            return self.answer(403, b"signature" if body else b"")
        if how == "down":
            return self.answer(503, b"down" if body else b"")
        if how == "moved":
            return self.answer(302, b"", {"Location": "/" + rest})
        if how == "loop":
            return self.answer(302, b"", {"Location": self.path})
        if how == "busy" and body and next(asked) % 3 == 0:
            return self.answer(503, b"busy")
        try:
            with open(os.path.join(folder, rest), "rb") as file:
                content = file.read()
        except OSError:
            return self.answer(404, b"nothing here" if body else b"")
        tag = {"ETag": '"%d-%d"' % (len(content), hash(content))}
        if how == "short":
            tag["Content-Length"] = str(len(content) + 100)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not body:
            return self.answer(200, b"", {"Content-Length": str(len(content)), **tag})
        if not wanted or how in ("whole", "short"):
            return self.answer(200, content, tag)
        first, last = int(wanted[1]), min(int(wanted[2]), len(content) - 1)
        return self.answer(206, content[first:last + 1], {
            "Content-Range": "bytes %d-%d/%d" % (first, last, len(content)), **tag})

    def answer(self, status, body, headers=None):
        super().answer(status, body, headers)
        # Nobody is to wait for what was promised beyond the body.
        promised = (headers or {}).get("Content-Length", str(len(body)))
        self.close_connection = bool(body) and promised != str(len(body))


loopback_http.serve(Files)
