#!/usr/bin/env python3
"""The blocks of docs/FIRST_HOUR.md do what it says, with a stopwatch: a stranger's table, images, model, server, tenants, variants.

Usage: first_hour_test.py ROOT FL_SERVER COTERIE AS_WRITTEN [unittest's arguments]. AS_WRITTEN: 1, or 0 for programs with sanitizers, which
take fewer devices, rounds and seeds. Exits with 77 when something is not installed.
"""
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import operating_site as here  # noqa: E402

ROOT, FL_SERVER, COTERIE, AS_WRITTEN = sys.argv[1:5]
BLOCKS = here.Blocks(Path(ROOT) / "docs", ["FIRST_HOUR"])
DEVICES, SEEDS = (20, 10) if AS_WRITTEN == "1" else (5, 2)
if AS_WRITTEN != "1":
    for name, block in BLOCKS.runnable.items():
        BLOCKS.runnable[name] = block.replace("--devices 20 --rounds 10", "--devices 5 --rounds 8").replace("--seeds 10", "--seeds 2")
COMMANDS_MAX = 3  # of a journey from own data to a model
LEASE_MS = 1500


def people(path, count=240):
    """Whether one is at risk follows from age, weight and whether one smokes."""
    chance = random.Random(7)
    lines = ["age,weight,smokes,risk"]
    for _ in range(count):
        age, weight, smokes = chance.uniform(20, 80), chance.uniform(50, 110), chance.random() < 0.3
        score = (age - 50) / 15 + (weight - 80) / 20 + (1.5 if smokes else -0.8) - 0.6
        lines.append(f"{age:.1f},{weight:.1f},{'yes' if smokes else 'no'},{'high' if score > 0 else 'low'}")
    path.write_text("\n".join(lines) + "\n")


def photo(path, size, bright_top):
    """A grey PNG that is brighter in its upper or in its lower half."""
    chance = random.Random(str(path))
    rows = [bytes([0] + [chance.randrange(60) + (150 if (y < size // 2) == bright_top else 20) for _ in range(size)]) for y in range(size)]

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b""))


def commands(name):
    """How many a stranger types."""
    return len([line for line in BLOCKS.runnable[name].splitlines() if line and not line.startswith((" ", "#"))])


class FirstHour(unittest.TestCase):
    store = staticmethod(lambda root: {})

    def setUp(self):
        self.site = here.Site(Path(tempfile.mkdtemp(prefix="first-hour-")), FL_SERVER, COTERIE, BLOCKS, self.store)
        self.addCleanup(self.site.close)
        self.work = self.site.root / "work"
        people(self.work / "people.csv")

    def timed(self, name, commands_max=COMMANDS_MAX):
        self.assertLessEqual(commands(name), commands_max)
        began = time.monotonic()
        said = self.site.run(name)
        print(f"{name}: {commands(name)} command{'s'[:commands(name) > 1]}, {time.monotonic() - began:.1f} s", flush=True)
        return said

    def result(self, run):
        summary = json.loads((self.work / run / "summary.json").read_text())
        self.assertGreater(summary["accuracy"], summary["accuracy_majority"] + 0.1, summary)
        self.assertEqual(summary["devices"], DEVICES)
        for name in ("model.cotf", "chart.svg", "metrics.csv"):
            self.assertTrue((self.work / run / name).exists(), name)

    def job(self, words):
        """As `coterie demo --print-job` says it."""
        return json.loads(self.site.shell(f"coterie demo --security none --print-job --rounds 3 --fraction 1 {words}"))


class OwnData(FirstHour):
    def test_a_table(self):
        self.timed("csv")
        self.result("people")

    def test_images(self):
        for name in ("top", "bottom"):
            (self.work / "photos" / name).mkdir(parents=True)
            for i in range(100):
                photo(self.work / "photos" / name / f"{i}.png", 16 if i % 2 else 20, name == "top")
        self.timed("images")
        self.result("photos-run")

    def test_a_model(self):
        self.site.shell("coterie model new mlp --input 4 --classes 2 -o net.cotf && coterie model export net.cotf -o net.onnx")
        self.timed("onnx")
        self.result("mine")

    def test_a_server_and_variants(self):
        spec = {"name": "people", "privacy": {"level": "none"}, "rounds": {"count": 2, "goal_count": 3, "pool_min": 3}}
        (self.work / "job.json").write_text(json.dumps(spec))
        self.site.start()
        job = re.search(r"\bj[a-z0-9]{7,}\b", self.timed("server"))[0]
        token = self.site.coterie("token create --uses 3").strip()
        began = time.monotonic()
        devices = [subprocess.Popen(["coterie", "device", "run", "--server", self.site.url, "--ca", self.site.ca, "--token", token, "--state-dir",
                                     f"state{i}", "--data", f"shards/device-0{i}.cotf", "--rounds", "2", "--security-level-min", "none"],
                                    cwd=self.work, env=self.site.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(1, 4)]
        for device in devices:
            self.assertEqual(device.wait(timeout=here.PATIENCE_S), 0)
        print(f"server: and 2 rounds of 3 devices, {time.monotonic() - began:.1f} s", flush=True)
        self.site.wait_for_log(f'"job":"{job}".*"model_version":2' + "}")
        (self.work / "job.json").write_text(json.dumps(self.job("--data shards --out printed")))
        said = self.timed("sweep", 1)
        for epochs in (1, 2, 4):
            self.assertIn(f"local_epochs={epochs}", said)
        rows = json.loads((self.work / "variants/comparison.json").read_text())["variants"]
        self.assertEqual([row["accuracy"]["runs"] for row in rows], [SEEDS] * 3)
        self.assertTrue((self.work / "variants/comparison.svg").exists())


@unittest.skipUnless(here.Postgres.programs, "PostgreSQL is not installed: apt-get install postgresql")
class OnAFleet(FirstHour):
    def store(self, root):
        (root / "etc/coterie/postgres").write_text(self.postgres.conninfo)
        return {"store": {"engine": "postgres", "conninfo_file": str(root / "etc/coterie/postgres")}, "node": "node-1",
                "lease": {"ttl_ms": LEASE_MS, "renew_ms": LEASE_MS // 3}, "keys_dir": str(root / "etc/coterie/keys"),
                "blobs_dir": str(root / "mnt/coterie")}

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="first-hour-pg-")
        self.addCleanup(folder.cleanup)
        Path(folder.name).chmod(0o755)
        self.postgres = here.Postgres(Path(folder.name) / "pg")
        self.addCleanup(self.postgres.stop)
        super().setUp()

    def second_node(self):
        config = json.loads((self.site.etc / "fl_server.json").read_text())
        config |= {"node": "node-2", "data_dir": str(self.site.root / "second"), "device": {"address": "127.0.0.1", "port": 0}, "admin": {"port": 0}}
        path = self.site.etc / "second.json"
        path.write_text(json.dumps(config))
        with open(self.site.root / "second.log", "w", encoding="utf-8") as log:
            node = subprocess.Popen([FL_SERVER, "--config", path], stdout=log, stderr=log, env=os.environ)
        self.addCleanup(node.wait)
        self.addCleanup(node.kill)
        return node

    def second_says(self, node, text):
        self.site.shell(f"grep -q -m1 -- '{text}' < <(timeout {here.PATIENCE_S} tail -s 0.05 --pid={node.pid} -n +1 -f {self.site.root}/second.log)")

    def test_two_tenants_and_a_leader_that_dies(self):
        self.site.shell("coterie model new mlp --input 4 --classes 2 -o start.cotf")
        (self.work / "job.json").write_text(json.dumps({"name": "acme's", "privacy": {"level": "none"}}))
        self.site.start()
        node = self.second_node()
        self.second_says(node, '"server_started"')
        said = self.timed("tenants", 5)
        self.assertIn("node-1", said)
        self.assertNotIn("acme's", said.splitlines()[-1])
        self.assertIn("acme's", self.site.shell(f"coterie --data-dir {self.site.data} --token-file acme.token job list"))
        began = time.monotonic()
        self.site.shell("kill -KILL $(cat $SITE/pid)")
        self.second_says(node, '"server_leads"')
        print(f"tenants: the other node leads {time.monotonic() - began:.1f} s after kill -9; its lease is {LEASE_MS} ms", flush=True)
        left = self.site.shell(f"coterie --data-dir {self.site.root}/second --token-file acme.token job list")
        self.assertIn("acme's", left)


def tearDownModule():
    left = set(BLOCKS.runnable) - BLOCKS.ran - (set() if here.Postgres.programs else {"tenants"})
    if len(sys.argv) == 5 and left:
        raise AssertionError(f"these blocks were not run: {sorted(left)}")


if __name__ == "__main__":
    if here.missing_programs():
        print(f"skipped: install {' '.join(here.missing_programs())}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]] + sys.argv[5:], verbosity=2)
