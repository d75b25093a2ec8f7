"""AWS Signature Version 4 as a server checks it: written from the S3 API reference, with none of the product's code."""
import calendar
import hashlib
import hmac
import time
import urllib.parse

SKEW_SECONDS_MAX = 15 * 60
PRESIGNED_SECONDS_MAX = 7 * 24 * 3600


class Refused(Exception):
    """An error of S3: status, code, words."""

    def __init__(self, status, code, words=""):
        super().__init__(words)
        self.status, self.code, self.words = status, code, words


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def encode(text, safe=""):
    return urllib.parse.quote(text, safe="-_.~" + safe)


def parse_query(raw):
    """The names and values of a query; a plus is a plus."""
    pairs = [part.partition("=") for part in raw.split("&") if part]
    return [(urllib.parse.unquote(name), urllib.parse.unquote(value)) for name, _, value in pairs]


def canonical_query(pairs):
    return "&".join(f"{name}={value}" for name, value in sorted((encode(n), encode(v)) for n, v in pairs))


def seconds_of(stamp):
    try:
        return calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
    except ValueError:
        raise Refused(403, "AccessDenied", "x-amz-date is no time") from None


class Verifier:
    def __init__(self, access_key, secret_key, region):
        self.access_key, self.secret_key, self.region = access_key, secret_key, region

    def signature(self, method, path, pairs, headers, names, payload_hash, stamp, scope):
        canonical = "\n".join([
            method, encode(urllib.parse.unquote(path), "/"), canonical_query(pairs),
            "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names), ";".join(names), payload_hash])
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = ("AWS4" + self.secret_key).encode()
        for part in scope.split("/"):
            key = sign(key, part)
        return sign(key, text).hex()

    def check_scope(self, credential, stamp):
        access_key, _, scope = credential.partition("/")
        if access_key != self.access_key:
            raise Refused(403, "InvalidAccessKeyId", "The access key is not known.")
        if scope != f"{stamp[:8]}/{self.region}/s3/aws4_request":
            raise Refused(400, "AuthorizationHeaderMalformed", f"The credential scope {scope} is wrong.")
        return scope

    def check(self, method, path, raw_query, headers, body, now):
        """Raises Refused unless the request is signed; headers have lower-case names. Gives the query back."""
        pairs = parse_query(raw_query)
        query = dict(pairs)
        if "X-Amz-Signature" in query:
            self.check_presigned(method, path, pairs, headers, now)
            return query
        algorithm, _, rest = headers.get("authorization", "").partition(" ")
        fields = dict(field.strip().partition("=")[::2] for field in rest.split(","))
        if algorithm != "AWS4-HMAC-SHA256" or not {"Credential", "SignedHeaders", "Signature"} <= fields.keys():
            raise Refused(403, "AccessDenied", "The request is not signed.")
        stamp = headers.get("x-amz-date", "")
        if abs(seconds_of(stamp) - now) > SKEW_SECONDS_MAX:
            raise Refused(403, "RequestTimeTooSkewed", "The time of the request differs too much from ours.")
        scope = self.check_scope(fields["Credential"], stamp)
        names = fields["SignedHeaders"].split(";")
        must = {"host", "x-amz-content-sha256", "x-amz-date"} | {name for name in headers if name.startswith("x-amz-")}
        if names != sorted(names) or not must <= set(names) <= headers.keys():
            raise Refused(403, "AccessDenied", "Headers are not signed that must be.")
        payload_hash = headers["x-amz-content-sha256"]
        expected = self.signature(method, path, pairs, headers, names, payload_hash, stamp, scope)
        if not hmac.compare_digest(expected, fields["Signature"]):
            raise Refused(403, "SignatureDoesNotMatch", "The signature is not the one we compute.")
        if payload_hash != hashlib.sha256(body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch", "The body is not the one that was signed.")
        return query

    def check_presigned(self, method, path, pairs, headers, now):
        query = dict(pairs)
        stamp = query.get("X-Amz-Date", "")
        seconds = int(query.get("X-Amz-Expires", "0"))
        begins = seconds_of(stamp)
        if not 1 <= seconds <= PRESIGNED_SECONDS_MAX:
            raise Refused(400, "AuthorizationQueryParametersError", "X-Amz-Expires is out of range.")
        if now > begins + seconds or begins > now + SKEW_SECONDS_MAX:
            raise Refused(403, "AccessDenied", "Request has expired")
        scope = self.check_scope(query.get("X-Amz-Credential", ""), stamp)
        names = query.get("X-Amz-SignedHeaders", "").split(";")
        if "host" not in names or not set(names) <= headers.keys():
            raise Refused(403, "AccessDenied", "The host is not signed.")
        unsigned = [pair for pair in pairs if pair[0] != "X-Amz-Signature"]
        expected = self.signature(method, path, unsigned, headers, names, "UNSIGNED-PAYLOAD", stamp, scope)
        if not hmac.compare_digest(expected, query["X-Amz-Signature"]):
            raise Refused(403, "SignatureDoesNotMatch", "The signature is not the one we compute.")
