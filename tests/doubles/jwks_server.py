#!/usr/bin/env python3
"""An issuer's HTTPS server for tests: jwks_server.py CERTIFICATE KEY JWKS_FILE. Prints its port, serves until standard input ends.

/keys answers with the file; every other path goes wrong in the way that it is named after.
"""
import http.server
import pathlib
import sys
import threading

from serve import serve

NEVER = threading.Event()


class Issuer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        keys = pathlib.Path(sys.argv[3]).read_bytes()
        self.close_connection = True
        if self.path == "/keys":
            self.answer(200, [("Cache-Control", "public"), ("cache-control", "max-age=120")], keys)
        elif self.path == "/redirect":
            self.answer(302, [("Location", "/keys")])
        elif self.path == "/missing":
            self.answer(404, [], keys)
        elif self.path == "/cut":
            self.answer(200, [("Content-Length", str(len(keys) + 1))], keys)
        elif self.path == "/silent":
            NEVER.wait()
        elif self.path == "/endless":
            self.answer(200, [("Content-Length", str(1 << 40))])
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                pass  # the client has had enough


if __name__ == "__main__":
    serve(Issuer, sys.argv[1], sys.argv[2])
