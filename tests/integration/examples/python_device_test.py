"""The device in Python, which was written from docs/PROTOCOL.md alone, against a real server.

Usage: python_device_test.py FL_SERVER COTERIE [unittest's arguments]; exits with 77 when something is not installed.
"""
import importlib.util
import json
import queue
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

sys.dont_write_bytecode = True
MISSING = [f"python3-{name}" for name in ("cryptography", "flatbuffers", "numpy") if not importlib.util.find_spec(name)]
MISSING += [] if shutil.which("flatc") else ["flatbuffers-compiler"]
if MISSING:
    print(f"skipped: install {' '.join(MISSING)}")
    sys.exit(77)

import numpy  # noqa: E402

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "python_device"
sys.path.insert(0, str(EXAMPLE))
import device as example  # noqa: E402

FL_SERVER, COTERIE = sys.argv[1:3]
PATIENCE_S = 60


class Server:
    """A process whose log can be waited for."""

    def __init__(self, folder: Path):
        self.data = folder / "data"
        config = folder / "server.json"
        config.write_text(json.dumps({"data_dir": str(self.data), "device": {"address": "127.0.0.1", "port": 0},
                                      "admin": {"port": 0}}))
        self.process = subprocess.Popen([FL_SERVER, "--config", config], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.seen, self.lines = [], queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.wait_for('"server_started"')
        endpoints = json.loads((self.data / "endpoints.json").read_text())
        self.url, self.ca = endpoints["device_url"], endpoints["ca_file"]

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def wait_for(self, *texts):
        for line in self.seen:
            if all(text in line for text in texts):
                return
        while (line := self.lines.get(timeout=PATIENCE_S)) is not None:
            self.seen.append(line)
            if all(text in line for text in texts):
                return
        raise AssertionError(f"fl_server ended:\n{''.join(self.seen)}")

    def coterie(self, *arguments) -> str:
        done = subprocess.run([COTERIE, "--data-dir", self.data, *arguments], capture_output=True, text=True,
                              timeout=PATIENCE_S)
        if done.returncode != 0:
            raise AssertionError(f"coterie {arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


class CuttingProxy:
    """Passes bytes on; cuts its first connection once this many have come from the server."""

    def __init__(self, server_url: str, cut_after: int):
        parts = urlsplit(server_url)
        self.server, self.cut_after, self.sent = (parts.hostname, parts.port), cut_after, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            upstream = socket.create_connection(self.server)
            self.sent.append(0)
            threading.Thread(target=self.pump, args=(client, upstream, None), daemon=True).start()
            threading.Thread(target=self.pump, args=(upstream, client, len(self.sent) - 1), daemon=True).start()

    def pump(self, source, sink, counted):
        try:
            while piece := source.recv(16 * 1024):
                if counted is not None:
                    self.sent[counted] += len(piece)
                    if counted == 0 and self.sent[0] >= self.cut_after:
                        break
                sink.sendall(piece)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the other side was faster
        source.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class PythonDevice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.server = Server(cls.folder)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        # Each test has devices and jobs of its own.
        self.population = self.id().rsplit(".", 1)[1].replace("_", "-")
        self.token = json.loads(self.server.coterie("token", "create", "--uses", "9", "--population", self.population,
                                                    "-o", "json"))["token"]

    def create_job(self, *model, rounds=1, **spec) -> str:
        path = self.folder / f"{self.population}.cotf"
        self.server.coterie("model", "new", *(model or ("mlp", "--input", "3x3x1", "--classes", "3")), "-o", path)
        description = self.folder / f"{self.population}.json"
        description.write_text(json.dumps({
            "name": self.population, "population": self.population,
            "rounds": {"count": rounds, "goal_count": 1, "pool_min": 1}, "privacy": {"level": "none"}, **spec}))
        return json.loads(self.server.coterie("job", "create", description, "--model", path, "-o", "json"))["id"]

    def model(self, job: str, version: int):
        path = self.folder / f"{job}-{version}.cotf"
        self.server.coterie("model", "download", job, str(version), "-o", path)
        return example.read_model(path.read_bytes())

    def state(self, name: str) -> Path:
        return self.folder / f"{self.population}-{name}"

    def run_program(self, *arguments, name="state"):
        return subprocess.run(
            [sys.executable, EXAMPLE / "device.py", "--server", self.server.url, "--ca", self.server.ca, "--state-dir",
             self.state(name), *arguments], capture_output=True, text=True, timeout=PATIENCE_S)

    def enrolled(self, name="state", key="ed25519", url=None) -> example.Device:
        device = example.Device(url or self.server.url, self.server.ca, self.state(name), key)
        self.addCleanup(device.connection.close)
        if device.facts is None:
            device.enroll(self.token)
        return device

    def zeros(self, device, assignment):
        plan = device.download("plans", bytes(assignment.Plan().Bytes()), assignment.PlanBytes())
        model = device.download("models", bytes(assignment.Model().Bytes()), assignment.ModelBytes())
        return example.make_update(assignment.Job(), plan, model, 0.0)

    def check_round(self, key: str):
        job = self.create_job("lenet5", "--input", "28x28x1", rounds=2)
        first = self.run_program("--token", self.token, "--key", key, "--add", "0.25")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertRegex(first.stdout, rf"enrolled as [0-9a-f]{{32}}\njob {job}, round \d+: receipt [0-9a-f]{{64}}\n")
        second = self.run_program("--zero")  # needs no token
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertRegex(second.stdout, rf"^job {job}, round \d+: receipt [0-9a-f]{{64}}\n$")
        self.server.wait_for('"round_done"', f'"{job}"', '"model_version":2}')
        (before, places), (after, _), (same, _) = (self.model(job, version) for version in (0, 1, 2))
        expected = before.copy()
        for place in places:
            expected[place] += numpy.float32(0.25)
        self.assertLess(sum(place.stop - place.start for place in places), len(before), "a model with padding, please")
        numpy.testing.assert_allclose(after, expected, rtol=0, atol=1e-6)
        numpy.testing.assert_array_equal(same, after)

    def test_a_round_with_ed25519_adds_the_constant(self):
        self.check_round("ed25519")

    def test_a_round_with_p256_adds_the_constant(self):
        self.check_round("p256")

    def test_clips_to_the_norm_of_the_plan(self):
        job = self.create_job(update={"clip_l2": 0.5})
        done = self.run_program("--token", self.token, "--add", "0.25")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.server.wait_for('"round_done"', f'"{job}"', '"model_version":1}')
        moved = self.model(job, 1)[0].astype("f8") - self.model(job, 0)[0]
        self.assertAlmostEqual(float(numpy.linalg.norm(moved)), 0.5, places=4)

    def test_a_wrong_signature_gets_401_and_an_error_frame(self):
        for key in ("ed25519", "p256"):
            device = self.enrolled(key, key)
            right = device.sign
            with mock.patch.object(device, "sign", lambda text: right(text + "?")):
                with mock.patch.object(example, "decode_frame", side_effect=example.decode_frame) as decoded:
                    with self.assertRaises(example.Refused) as caught:
                        device.check_in()
            self.assertEqual((caught.exception.status, caught.exception.code), (401, "unauthenticated"))
            self.assertIn("signature", str(caught.exception))
            kind, _, _ = example.decode_frame(decoded.call_args.args[0])
            self.assertEqual(kind, 9, "an error_reply frame")

    def test_a_proof_by_another_key_is_refused(self):
        device = example.Device(self.server.url, self.server.ca, self.state("state"), "ed25519")
        self.addCleanup(device.connection.close)
        with mock.patch.object(device, "sign", lambda text: bytes(64)):
            with self.assertRaises(example.Refused) as caught:
                device.enroll(self.token)
        self.assertEqual(caught.exception.status, 401)

    def test_the_same_update_twice_gets_the_same_receipt_and_counts_once(self):
        job = self.create_job()
        device = self.enrolled()
        assignment = device.check_in()
        values = self.zeros(device, assignment) + numpy.float32(0.5)
        receipt = device.upload(assignment, values)
        self.assertEqual(device.upload(assignment, values), receipt)
        self.server.wait_for('"round_done"', f'"{job}"', '"updates":1', '"model_version":1}')
        device.connection.close()
        self.assertEqual(device.upload(assignment, values), receipt, "also after the round, on another connection")
        (before, places), (after, _) = self.model(job, 0), self.model(job, 1)
        numpy.testing.assert_allclose(after[places[0]], before[places[0]] + numpy.float32(0.5), rtol=0, atol=1e-6)

    def test_reads_why_a_large_upload_was_refused(self):
        self.create_job()
        device = self.enrolled()
        assignment = device.check_in()
        with self.assertRaises(example.Refused) as caught:
            device.upload(assignment, numpy.zeros(4_000_000, "<f4"))
        self.assertEqual((caught.exception.status, caught.exception.code), (413, "too_large"))

    def test_a_broken_download_goes_on_where_it_stopped(self):
        self.create_job("lenet5", "--input", "28x28x1")
        proxy = CuttingProxy(self.server.url, 128 * 1024)
        self.addCleanup(proxy.close)
        device = self.enrolled(url=proxy.url)
        assignment = device.check_in()
        with mock.patch("time.sleep"):
            values = self.zeros(device, assignment)
            device.upload(assignment, values)
        size = assignment.ModelBytes()
        self.assertGreater(size, 200 * 1024)
        self.assertEqual(len(proxy.sent), 2, "the connection was to be cut once")
        self.assertLess(sum(proxy.sent), size + 64 * 1024, "what had come was to be kept")

    def test_refuses_what_the_server_did_not_sign(self):
        job = self.create_job()
        self.enrolled()
        facts = self.state("state") / "device.json"
        known = json.loads(facts.read_text())
        facts.write_text(json.dumps({**known, "signing_key": self.enrolled("other").public_key.hex()}))
        done = self.run_program("--zero")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not signed by the server", done.stderr)
        self.server.coterie("job", "cancel", job)

    def test_refuses_an_older_model_than_it_has_seen(self):
        job = self.create_job()
        device = self.enrolled()
        device.facts["newest_models"][job] = 7
        with self.assertRaisesRegex(ValueError, "is older than 7"):
            device.check_in()

    def test_refuses_content_of_another_digest(self):
        self.create_job()
        device = self.enrolled()
        assignment = device.check_in()
        digest = bytes(assignment.Model().Bytes())
        with mock.patch.object(example, "decode_frame", side_effect=AssertionError("must not look into it")):
            with mock.patch("http.client.HTTPResponse.read", side_effect=[b"x" * assignment.ModelBytes(), b""]):
                with self.assertRaisesRegex(ValueError, "something else"):
                    device.download("models", digest, assignment.ModelBytes())

    def test_digests_are_those_of_the_document(self):
        self.assertEqual(example.content_digest(b"").hex()[:12], "e3b0c44298fc")
        self.assertEqual(example.content_digest(b"abc").hex(),
                         "609f6e36d2405585188d5cfd761f407c7cc46a7d3f314c88270469dde315fcd1")

    def test_says_what_to_do(self):
        without_token = self.run_program("--zero")
        self.assertEqual(without_token.returncode, 2)
        self.assertIn("coterie token create", without_token.stderr)
        bad_token = self.run_program("--zero", "--token", "cot_none")
        self.assertEqual(bad_token.returncode, 1)
        self.assertIn("ask the operator for a new one", bad_token.stderr)
        self.assertEqual(self.run_program("--help").returncode, 0)
        self.assertEqual(self.run_program().returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
