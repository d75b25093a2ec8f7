#!/usr/bin/env python3
"""A store that speaks S3, for tests: s3_server.py CERTIFICATE KEY ACCESS_KEY SECRET_KEY REGION BUCKET.

Serves HTTPS on a port that it prints, until standard input ends. One bucket, as https://BUCKET.localhost/KEY and as
https://localhost/BUCKET/KEY, in memory. Every request's signature is checked (s3_signature.py). What a test wants to go
wrong it says by POST /_double/... with JSON:

    faults   [{"kind": ..., "times": 3, "method": "PUT", "match": "text in path or query"}], in the place of those before
    settings {"age_s": 3600, "ahead_s": 7200, "page_max": 2, "part_bytes_min": 1}, each of them if it is there
    state    {} is answered with what there is: requests by method, objects, open uploads, connections

Kinds of faults: slow_down, internal, denied, full; internal_in_200: done, but an error in the body; reset: cut off before it is
done; lost: done, but never answered; stall: never done nor answered; cut: half of the answer's body; wrong_etag, wrong_range, corrupt:
an answer that lies; mangle: a body that arrives as another.
"""
import collections
import email.utils
import http.client
import http.server
import json
import sys
import threading
import time
import urllib.parse

from s3_bucket import Bucket, checksum
from s3_signature import Refused, Verifier
from serve import serve

NEVER = threading.Event()
REFUSALS = {"slow_down": Refused(503, "SlowDown", "Please reduce your request rate."),
            "internal": Refused(500, "InternalError", "We encountered an internal error."),
            "denied": Refused(403, "AccessDenied", "Access Denied"),
            "full": Refused(507, "XMinioStorageFull", "Storage backend has reached its minimum free drive threshold.")}


class Hung(Exception):
    """The connection ends here."""


class World:
    def __init__(self, access_key, secret_key, region, bucket):
        self.verifier = Verifier(access_key, secret_key, region)
        self.name, self.bucket = bucket, Bucket()
        self.lock = threading.Lock()
        self.faults, self.ahead, self.connections = [], 0, 0
        self.requests = collections.Counter()

    def now(self):
        return time.time() + self.ahead

    def fault_of(self, method, target):
        """The kind of the fault whose turn it is, if any."""
        with self.lock:
            self.requests[method] += 1
            for fault in self.faults:
                fits = fault.get("method", method) == method and fault.get("match", "") in target
                if fits and fault.get("times", 1) > 0:
                    fault["times"] = fault.get("times", 1) - 1
                    return fault["kind"]
        return None

    def control(self, route, order):
        with self.lock:
            if route == "faults":
                self.faults = order
            elif route == "settings":
                self.ahead += order.get("ahead_s", 0)
                self.bucket.grow_older(order.get("age_s", 0))
                self.bucket.page_max = order.get("page_max", self.bucket.page_max)
                self.bucket.part_bytes_min = order.get("part_bytes_min", self.bucket.part_bytes_min)
            return {"requests": dict(self.requests), "objects": len(self.bucket.objects),
                    "uploads": len(self.bucket.uploads), "connections": self.connections}


def iso(seconds):
    milli = int(seconds * 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milli // 1000)) + f".{milli % 1000:03}Z"


class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    world = None

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        with self.world.lock:
            self.world.connections += 1

    def answer(self, status, headers=(), body=b"", cut=False):
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, 'Status')}",
                 "Date: " + email.utils.formatdate(self.world.now(), usegmt=True)]
        lines += [f"{name}: {value}" for name, value in headers]
        if status != 204 and not any(name == "Content-Length" for name, _ in headers):
            lines.append(f"Content-Length: {len(body)}")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        if self.command == "HEAD":
            body = b""
        self.wfile.write(head + (body[: len(body) // 2] if cut else body))
        if cut:
            raise Hung()

    def refuse(self, refused):
        body = ('<?xml version="1.0" encoding="UTF-8"?>\n'
                f"<Error><Code>{refused.code}</Code><Message>{refused.words}</Message></Error>").encode()
        self.answer(refused.status, [("Content-Type", "application/xml")], body)

    def key_of(self, path):
        """The object's key: of either style of address."""
        path = urllib.parse.unquote(path)[1:]
        if self.headers["Host"].startswith(self.world.name + "."):
            return path
        bucket, _, key = path.partition("/")
        if bucket != self.world.name:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist")
        return key

    def handle_request(self):
        path, _, raw_query = self.path.partition("?")
        try:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            if path.startswith("/_double/"):
                told = self.world.control(path[len("/_double/"):], json.loads(body))
                self.answer(200, [], json.dumps(told).encode())
                return
            fault = self.world.fault_of(self.command, self.path)
            if fault in REFUSALS:
                raise REFUSALS[fault]
            if fault == "reset":
                raise Hung()
            if fault == "stall":
                NEVER.wait()
            if fault == "mangle" and body:
                body = bytes([body[0] ^ 1]) + body[1:]
            headers = {name.lower(): value for name, value in self.headers.items()}
            query = self.world.verifier.check(self.command, path, raw_query, headers, body, self.world.now())
            self.serve(self.key_of(path), query, headers, body, fault)
        except Refused as refused:
            self.refuse(refused)
        except Hung:
            self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request

    def serve(self, key, query, headers, body, fault):
        bucket, now = self.world.bucket, self.world.now()
        if "x-amz-checksum-sha256" in headers and headers["x-amz-checksum-sha256"] != checksum(body):
            raise Refused(400, "BadDigest", "The SHA256 you specified did not match the calculated checksum.")
        told, out = [], b""
        status = 200
        if self.command == "PUT":
            etag = (bucket.put_part(key, query["uploadId"], int(query["partNumber"]), body) if "uploadId" in query
                    else bucket.put(key, body, now))
            told = [("ETag", '"wrong"' if fault == "wrong_etag" else etag), ("x-amz-checksum-sha256", checksum(body))]
        elif self.command == "POST" and "uploads" in query:
            upload = bucket.begin(key).replace("&", "&amp;")
            out = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>".encode()
        elif self.command == "POST":
            if fault != "internal_in_200":
                bucket.complete(key, query["uploadId"], body, now)
                out = b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>"
            else:
                out = b"  \n<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code></Error>"
        elif self.command == "DELETE":
            if "uploadId" in query:
                bucket.abort(key, query["uploadId"])
            else:
                bucket.remove(key)
            status = 204
        elif not key:
            out = bucket.list(query.get("prefix", ""), query.get("continuation-token", ""), iso).encode()
        else:
            self.serve_object(bucket.get(key), headers, fault)
            return
        if fault == "lost":
            raise Hung()
        self.answer(status, told, out, cut=fault == "cut")

    def serve_object(self, stored, headers, fault):
        if headers.get("if-match", stored.etag) != stored.etag:
            raise Refused(412, "PreconditionFailed", "At least one of the preconditions you specified did not hold")
        told = [("ETag", '"wrong"' if fault == "wrong_etag" else stored.etag)]
        body, status, size = stored.body, 200, len(stored.body)
        if "range" in headers and self.command == "GET":
            first, last = (int(n) for n in headers["range"].removeprefix("bytes=").split("-"))
            if first >= size:
                raise Refused(416, "InvalidRange", "The requested range is not satisfiable")
            last = min(last, size - 1)
            body, status = body[first: last + 1], 206
            moved = 1 if fault == "wrong_range" else 0
            told.append(("Content-Range", f"bytes {first + moved}-{last + moved}/{size}"))
        if fault == "corrupt" and body:
            body = bytes([body[0] ^ 1]) + body[1:]
        self.answer(status, told, body, cut=fault == "cut")


def main():
    certificate, key, access_key, secret_key, region, bucket = sys.argv[1:7]
    Store.world = World(access_key, secret_key, region, bucket)
    serve(Store, certificate, key)


if __name__ == "__main__":
    main()
