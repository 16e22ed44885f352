"""HTTP servers on loopback, for tests and measurements."""

import http.server
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the whole body at once, keeps connections, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def answer(self, status, body, headers=None):
        """A Content-Length among the headers stands in the place of the body's own."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(handler):
    """Prints the port, and ends with standard input."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
