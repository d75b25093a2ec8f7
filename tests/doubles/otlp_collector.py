#!/usr/bin/env python3
"""A collector of OpenTelemetry for tests, over HTTP on 127.0.0.1: otlp_collector.py. Prints its port, then a line of JSON for each
POST (path, type, authorization, body); serves until standard input ends.

The path decides on the answer: /v1/traces takes it, /busy asks for another try (503), /refusing never (400), /moved redirects,
/silent does not answer.
"""
import http.server
import json
import threading

from serve import say, serve

NEVER = threading.Event()
STATUS = {"/v1/traces": 200, "/busy": 503, "/refusing": 400, "/moved": 302}


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        line = {"path": self.path, "type": self.headers["Content-Type"], "authorization": self.headers["Authorization"],
                "body": json.loads(body)}
        say(json.dumps(line))
        if self.path == "/silent":
            NEVER.wait()
        answer = b'{"partialSuccess":{}}'
        self.send_response(STATUS[self.path])
        if self.path == "/moved":
            self.send_header("Location", "/v1/traces")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


if __name__ == "__main__":
    serve(Collector)
