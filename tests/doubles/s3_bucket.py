"""What an S3 bucket does, in memory: objects, pages of lists, uploads in parts. Times are given in seconds."""
import base64
import hashlib
import threading
import xml.etree.ElementTree
from typing import NamedTuple
from xml.sax.saxutils import escape

from s3_signature import Refused

NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


class Stored(NamedTuple):
    body: bytes
    etag: str
    modified: float


def checksum(body):
    return base64.b64encode(hashlib.sha256(body).digest()).decode()


class Bucket:
    def __init__(self):
        self.lock = threading.Lock()
        self.objects = {}
        self.uploads = {}  # id -> (key, {number: body})
        self.uploads_begun = 0
        self.page_max = 1000
        self.part_bytes_min = 5 << 20

    def grow_older(self, seconds):
        with self.lock:
            self.objects = {k: o._replace(modified=o.modified - seconds) for k, o in self.objects.items()}

    def put(self, key, body, now):
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        with self.lock:
            self.objects[key] = Stored(body, etag, now)
        return etag

    def get(self, key):
        with self.lock:
            if key not in self.objects:
                raise Refused(404, "NoSuchKey", "The specified key does not exist.")
            return self.objects[key]

    def remove(self, key):
        with self.lock:
            self.objects.pop(key, None)

    def list(self, prefix, token, stamp):
        with self.lock:
            found = sorted((k, o) for k, o in self.objects.items() if k.startswith(prefix))
        after = base64.b64decode(token).decode() if token else ""
        rest = [(k, o) for k, o in found if k > after]
        page = rest[: self.page_max]
        more = len(rest) > len(page)
        xml_text = '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        xml_text += f"<Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>"
        if more:
            xml_text += f"<NextContinuationToken>{base64.b64encode(page[-1][0].encode()).decode()}</NextContinuationToken>"
        for key, stored in page:
            xml_text += (f"<Contents><Key>{escape(key)}</Key><LastModified>{stamp(stored.modified)}</LastModified>"
                         f"<ETag>{escape(stored.etag)}</ETag><Size>{len(stored.body)}</Size></Contents>")
        return xml_text + "</ListBucketResult>"

    def begin(self, key):
        with self.lock:
            self.uploads_begun += 1
            upload = f"upload/{self.uploads_begun}+=&"
            self.uploads[upload] = (key, {})
        return upload

    def upload_of(self, upload, key):
        if upload not in self.uploads or self.uploads[upload][0] != key:
            raise Refused(404, "NoSuchUpload", "The specified upload does not exist.")
        return self.uploads[upload][1]

    def put_part(self, key, upload, number, body):
        if not 1 <= number <= 10_000:
            raise Refused(400, "InvalidArgument", "Part number must be an integer between 1 and 10000")
        with self.lock:
            self.upload_of(upload, key)[number] = body
        return f'"{hashlib.md5(body).hexdigest()}"'

    def abort(self, key, upload):
        with self.lock:
            self.upload_of(upload, key)
            del self.uploads[upload]

    def complete(self, key, upload, request, now):
        root = xml.etree.ElementTree.fromstring(request)
        named = [(int(part.findtext(NAMESPACE + "PartNumber")), part.findtext(NAMESPACE + "ETag"),
                  part.findtext(NAMESPACE + "ChecksumSHA256")) for part in root.findall(NAMESPACE + "Part")]
        with self.lock:
            parts = self.upload_of(upload, key)
            if not named or [n for n, _, _ in named] != sorted({n for n, _, _ in named}):
                raise Refused(400, "InvalidPartOrder", "The list of parts was not in ascending order.")
            for number, etag, sha in named:
                body = parts.get(number)
                if body is None or etag != f'"{hashlib.md5(body).hexdigest()}"' or sha != checksum(body):
                    raise Refused(400, "InvalidPart", "One or more of the specified parts could not be found.")
                if number != named[-1][0] and len(body) < self.part_bytes_min:
                    raise Refused(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
            joined = b"".join(parts[number] for number, _, _ in named)
            etag = f'"{hashlib.md5(joined).hexdigest()}-{len(named)}"'
            self.objects[key] = Stored(joined, etag, now)
            del self.uploads[upload]
        return etag
