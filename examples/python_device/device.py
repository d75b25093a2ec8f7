#!/usr/bin/python3
"""A Coterie device in Python, written from docs/PROTOCOL.md: it enrolls, then takes part in rounds.

It trains nothing: --add adds a constant to every weight, --zero changes none. Put your training into train()."""

import argparse, base64, http.client, json, math, os, random, secrets, ssl, struct, subprocess, sys, tempfile, time
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

try:
    import flatbuffers, numpy
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    schemas, generated = Path(__file__).resolve().parents[2] / "proto/schema", tempfile.TemporaryDirectory()
    subprocess.run(["flatc", "--python", "--gen-object-api", "-o", generated.name, schemas / "wire.fbs",
                    schemas / "model.fbs"], check=True)
    sys.path.insert(0, generated.name)  # one module a table: Update.Update reads one, Update.UpdateT() writes one
    from coterie.model import Model
    from coterie.wire import Assignment, CheckinRequest, Digest32, EnrollReply, EnrollRequest, ErrorReply, Plan
    from coterie.wire import Receipt, RetryWindow, Update
except (ImportError, OSError, subprocess.CalledProcessError) as error:
    sys.exit(f"{error}\nInstall flatbuffers-compiler, python3-flatbuffers, python3-cryptography and python3-numpy.")

ENROLL_REQUEST, CHECKIN_REQUEST, RETRY_WINDOW, UPDATE = 1, 3, 4, 7  # kinds of frames
WAIT_MS, FAILURES_MAX = 60_000, 6
OVER = {"round_closed", "ticket_expired"}  # of the assignment
HOPELESS = OVER | {"invalid_argument", "malformed", "unsupported_version", "unauthenticated", "permission_denied",
                   "not_found", "conflict", "too_large", "length_required", "data_loss"}


class Refused(Exception):
    def __init__(self, status: int, code: str, detail: str, window_ms=(0, 0)):
        super().__init__(f"{code} ({status}): {detail}")
        self.status, self.code, self.window_ms = status, code, window_ms


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def content_digest(blob: bytes) -> bytes:
    def root(nodes):
        if len(nodes) == 1:
            return nodes[0]
        left = 1 << (len(nodes) - 1).bit_length() - 1  # the largest power of two below their number
        return sha256(b"\1" + root(nodes[:left]) + root(nodes[left:])).digest()

    leaves = [sha256(b"\0" + blob[i : i + 4096]).digest() for i in range(0, len(blob), 4096)]
    return root(leaves or [sha256(b"").digest()])


def encode_frame(kind: int, table, payload: bytes = b"") -> bytes:
    builder = flatbuffers.Builder(256)
    builder.Finish(table.Pack(builder))
    header = bytes(builder.Output())
    frame = struct.pack("<4sHHIIQ", b"COTF", 1, kind, len(header), 0, len(payload)) + header
    return frame + bytes(-len(frame) % 64) + payload


def decode_frame(blob: bytes):
    """kind, header, payload"""
    magic, version, kind, header_size, _, payload_size = struct.unpack_from("<4sHHIIQ", blob.ljust(24, b"\0"))
    end = 24 + header_size
    start = end + -end % 64
    if magic != b"COTF" or version != 1 or len(blob) != start + payload_size:
        raise ValueError("the server's answer is not a frame of version 1")
    return kind, blob[24:end], blob[start:]


class Device:
    """A key pair and what the server said at enrollment, kept in a folder; and a connection to the server."""

    def __init__(self, url: str, ca: str, folder: Path, algorithm: str):
        context = ssl.create_default_context(cafile=ca)  # checks the certificate and the host name
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.connection = http.client.HTTPSConnection(urlsplit(url).netloc, timeout=WAIT_MS / 1000 + 30,
                                                      context=context)
        folder.mkdir(parents=True, exist_ok=True)
        key_file, self.facts_file = folder / "key.pem", folder / "device.json"
        if not key_file.exists():
            key = (ed25519.Ed25519PrivateKey.generate() if algorithm == "ed25519"
                   else ec.generate_private_key(ec.SECP256R1()))
            with open(os.open(key_file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                             serialization.NoEncryption()))
        self.key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        if isinstance(self.key, ed25519.Ed25519PrivateKey):
            self.algorithm, self.sign_options = 1, ()
            encoding = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        else:
            self.algorithm, self.sign_options = 2, (ec.ECDSA(hashes.SHA256()),)
            encoding = serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        self.public_key = self.key.public_key().public_bytes(*encoding)
        self.id = content_digest(self.public_key)[:16].hex()
        self.facts = json.loads(self.facts_file.read_text()) if self.facts_file.exists() else None

    def save(self):
        fresh = self.facts_file.with_suffix(".new")
        fresh.write_text(json.dumps(self.facts, indent=2))
        fresh.replace(self.facts_file)

    def sign(self, text: str) -> bytes:
        return self.key.sign(text.encode(), *self.sign_options)

    def send(self, method: str, target: str, body: bytes = b"", digest: str = "-", signed=True, first_byte=0):
        """One request, once. The response, its body not yet read."""
        headers = {"Content-Type": "application/vnd.coterie.frame"} if body else {}
        if first_byte:
            headers["Range"] = f"bytes={first_byte}-"
        if signed:
            now, nonce = str(time.time_ns() // 1_000_000), secrets.token_hex(16)
            text = "\n".join(["coterie-request-1", method, target, str(len(body)), digest, self.id, now, nonce])
            headers |= {"Coterie-Device": self.id, "Coterie-Time": now, "Coterie-Nonce": nonce,
                        "Coterie-Signature": base64url(self.sign(text))}
        if digest != "-":
            headers["Coterie-Digest"] = digest
        try:
            self.connection.request(method, target, body or None, headers)
        except OSError:  # perhaps refused before all of the body was sent: then there is an answer
            if self.connection.sock is None:
                raise
        response = self.connection.getresponse()
        if response.status < 300:
            return response
        answer = response.read()
        if not answer.startswith(b"COTF"):  # not from the server but from something before it
            code = "unavailable" if response.status >= 500 else "invalid_argument"
            raise Refused(response.status, code, response.reason)
        error = ErrorReply.ErrorReply.GetRootAs(decode_frame(answer)[1])
        raise Refused(response.status, error.Code().decode(), (error.Detail() or b"").decode(),
                      (error.RetryMinMs(), error.RetryMaxMs()))

    def patiently(self, attempt):
        """attempt(), as often as the protocol's table of errors lets it be tried."""
        for failures in range(FAILURES_MAX):
            try:
                return attempt()
            except ssl.SSLCertVerificationError:
                raise
            except (Refused, OSError, http.client.HTTPException) as error:
                self.connection.close()  # the next request opens another
                if failures + 1 == FAILURES_MAX or isinstance(error, Refused) and error.code in HOPELESS:
                    raise
                window = getattr(error, "window_ms", (0, 0))
                wait = random.uniform(*window) / 1000 if window[1] else random.uniform(0, min(120, 0.5 * 2**failures))
                print(f"{error}; again in {wait:.1f} s", file=sys.stderr)
                time.sleep(wait)

    def ask(self, method: str, target: str, body: bytes, **options):
        """kind, header and payload of the answer"""
        return self.patiently(lambda: decode_frame(self.send(method, target, body, **options).read()))

    def enroll(self, token: str):
        request = EnrollRequest.EnrollRequestT()
        request.token, request.keyAlgorithm, request.publicKey = token, self.algorithm, self.public_key
        request.proof = self.sign(f"coterie-enroll-1\n{token}\n{self.public_key.hex()}")
        _, header, _ = self.ask("POST", "/v1/enrollments", encode_frame(ENROLL_REQUEST, request), signed=False)
        reply = EnrollReply.EnrollReply.GetRootAs(header)
        self.facts = {"population": reply.Population().decode(), "newest_models": {},
                      "signing_key": reply.SigningKeyAsNumpy().tobytes().hex()}
        self.save()

    def check_in(self):
        """An assignment that the pinned key signed, or None after the wait that the server asked for."""
        request = CheckinRequest.CheckinRequestT()
        request.population, request.waitMsMax = self.facts["population"], WAIT_MS
        body = encode_frame(CHECKIN_REQUEST, request)
        kind, header, _ = self.ask("POST", "/v1/checkins", body, digest=content_digest(body).hex())
        if kind == RETRY_WINDOW:
            window = RetryWindow.RetryWindow.GetRootAs(header)
            wait = random.uniform(window.MinMs(), window.MaxMs()) / 1000
            print(f"not now: {(window.Reason() or b'').decode()}; again in {wait:.1f} s", file=sys.stderr)
            return time.sleep(wait)
        a = Assignment.Assignment.GetRootAs(header)
        job, newest = a.Job().decode(), self.facts["newest_models"]
        manifest = ["coterie-manifest-1", job, a.Round(), a.Attempt(), a.ModelVersion(), bytes(a.Plan().Bytes()).hex(),
                    a.PlanBytes(), bytes(a.Model().Bytes()).hex(), a.ModelBytes(), a.NotAfterUnixMs()]
        pinned = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.facts["signing_key"]))
        pinned.verify(a.SignatureAsNumpy().tobytes(), "\n".join(map(str, manifest)).encode())
        if a.ModelVersion() < newest.get(job, 0):
            raise ValueError(f"job {job}: model version {a.ModelVersion()} is older than {newest[job]}, seen before")
        newest[job] = a.ModelVersion()
        self.save()
        return a

    def download(self, folder: str, digest: bytes, size: int) -> bytes:
        """What has this digest; a broken download goes on where it stopped."""
        blob = bytearray()

        def go_on():
            response = self.send("GET", f"/v1/{folder}/{digest.hex()}", first_byte=len(blob))
            if response.status != 206:
                blob.clear()
            while piece := response.read(65536):
                blob.extend(piece)
            if len(blob) < size:
                raise ConnectionError(f"the connection broke after {len(blob)} of {size} bytes")

        self.patiently(go_on)
        if content_digest(blob) != digest:
            raise ValueError(f"{folder}/{digest.hex()}: the server sent something else")
        return bytes(blob)

    def upload(self, assignment, values) -> bytes:
        """The receipt."""
        update = Update.UpdateT()
        update.round, update.attempt, update.encoding = assignment.Round(), assignment.Attempt(), 1
        update.model = Digest32.Digest32T()
        update.model.bytes = assignment.Model().Bytes()
        update.valueCount, update.weight, update.examples = len(values), 1, 1
        target = f"/v1/rounds/{assignment.Round()}/updates/{base64url(assignment.TicketAsNumpy().tobytes())}"
        _, header, _ = self.ask("PUT", target, encode_frame(UPDATE, update, values.tobytes()))
        return Receipt.Receipt.GetRootAs(header).ReceiptAsNumpy().tobytes()


def read_model(frame: bytes):
    """The whole payload as one array of numbers, and where in it the parameters lie; between them is padding."""
    _, header, payload = decode_frame(frame)
    model = Model.Model.GetRootAs(header)
    tensors = [model.Tensors(i) for i in range(model.TensorsLength())]
    places = [(t.PayloadOffset() // 4, math.prod(t.ShapeAsNumpy().tolist())) for t in tensors if t.Role() == 2]
    return numpy.frombuffer(payload, "<f4"), [slice(start, start + count) for start, count in places]


def train(weights, places, add: float):
    """Changes the weights in place. The model says what to compute, the plan how to train: neither is done here."""
    for place in places:
        weights[place] += numpy.float32(add)


def make_update(job: bytes, plan_frame: bytes, model_frame: bytes, add: float):
    plan = Plan.Plan.GetRootAs(decode_frame(plan_frame)[1])
    rules, (before, places) = plan.Update(), read_model(model_frame)
    if plan.Job() != job:
        raise ValueError("the plan is of another job than the assignment")
    secure = plan.Privacy() is not None and plan.Privacy().Level() != 0  # then a plain update would break a promise
    if secure or rules.Encoding() != 1 or rules.ValueCount() != len(before):
        raise ValueError("the plan asks for an update that this client cannot make; is there a newer client?")
    after = before.copy()
    train(after, places, add)
    values = after - before
    norm = float(numpy.linalg.norm(values.astype("f8")))
    if 0 < rules.ClipL2() < norm:
        values *= numpy.float32(rules.ClipL2() / norm)
    if not (abs(values) <= rules.FixedPoint().ValueAbsMax()).all():  # false for what is not a number, too
        raise ValueError(f"the plan allows values up to {rules.FixedPoint().ValueAbsMax()}; --add something smaller")
    return values


def take_part(device: Device, rounds: int, add: float):
    while rounds > 0:
        a = device.check_in()
        if a is None:
            continue
        try:
            plan = device.download("plans", bytes(a.Plan().Bytes()), a.PlanBytes())
            model = device.download("models", bytes(a.Model().Bytes()), a.ModelBytes())
            receipt = device.upload(a, make_update(a.Job(), plan, model, add))
        except Refused as error:
            if error.code not in OVER:
                raise
            print(f"{error}; checking in again", file=sys.stderr)
            continue
        print(f"job {a.Job().decode()}, round {a.Round()}: receipt {receipt.hex()}", flush=True)
        rounds -= 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, metavar="URL",
                        help="https://HOST:PORT, where fl_server listens for devices")
    parser.add_argument("--ca", required=True, metavar="FILE", help="the certificate authority to trust, as PEM")
    parser.add_argument("--state-dir", required=True, type=Path, metavar="DIR", help="keeps the key; one a device")
    parser.add_argument("--token", help="from `coterie token create`; needed once in a device's life")
    parser.add_argument("--key", choices=["ed25519", "p256"], default="ed25519", help="kind of a new key (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="updates to send (%(default)s)")
    change = parser.add_mutually_exclusive_group(required=True)
    change.add_argument("--add", type=float, metavar="X", help="add this to every weight")
    change.add_argument("--zero", dest="add", action="store_const", const=0.0, help="leave the weights as they are")
    options = parser.parse_args()
    if urlsplit(options.server).scheme != "https":
        parser.error("--server must begin with https://")
    if not Path(options.ca).is_file():
        parser.error(f"--ca: there is no file {options.ca}; the server has one in its data directory, tls/ca.pem")
    try:
        device = Device(options.server, options.ca, options.state_dir, options.key)
        if device.facts is None:
            if not options.token:
                parser.error("this device is not enrolled yet: give --token, from `coterie token create`")
            device.enroll(options.token)
            print(f"enrolled as {device.id}", flush=True)
        take_part(device, options.rounds, options.add)
    except ssl.SSLCertVerificationError as error:
        sys.exit(f"{error}\nIs {options.ca} the file of this server, and its name in --server the one it is known by?")
    except InvalidSignature:
        sys.exit("The assignment is not signed by the server this device enrolled with: is it the right --state-dir?")
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f"{options.server}: {error}\nIs fl_server running there?")
    except (Refused, ValueError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
