#!/usr/bin/env python3
"""The commands of docs/operating do what it says: each is run against a real server, and its outcome is looked at.

Usage: operating_test.py ROOT FL_SERVER COTERIE SAMPLES [unittest's arguments]
Exits with 77 when something is not installed.
"""
import json
import sqlite3
import ssl
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import operating_site as here  # noqa: E402

ROOT, FL_SERVER, COTERIE, SAMPLES = sys.argv[1:5]
PAGES = ["day_to_day", "backup_and_restore", "upgrade", "keys"]  # each of their blocks is run, or says why not
BLOCKS = here.Blocks(Path(ROOT) / "docs/operating", PAGES)
NOISE = 4.0
DELTA = 1e-6


class OperatingTest(unittest.TestCase):
    def store(self, root):
        return {}

    def setUp(self):
        self.site = here.Site(Path(tempfile.mkdtemp(prefix="operating-")), FL_SERVER, COTERIE, BLOCKS, self.store)
        self.addCleanup(self.site.close)
        self.site.start()
        self.tokens = {name: self.site.coterie(f"token create --uses 9 --population {name}").strip()
                       for name in ("open", "noisy")}
        self.plain = self.create_job("open", {"privacy": {"level": "none"}})

    def create_job(self, population, more):
        spec = {"name": population, "population": population, "rounds": {"count": 9, "goal_count": 1, "pool_min": 1}, **more}
        path = self.site.root / "work/job.json"
        path.write_text(json.dumps(spec))
        return self.site.coterie(f"job create {path} --model {SAMPLES}/mlp.cotf -o json")["id"]

    def create_noisy_job(self, releases):
        """Its budget takes so many releases and not one more."""
        epsilon = [self.site.coterie(f"privacy account --noise-multiplier {NOISE} --steps {steps} --delta {DELTA} --json")
                   for steps in (releases, releases + 1)]
        budget = sum(json.loads(text)["epsilon"] for text in epsilon) / 2
        return self.create_job("noisy", {"update": {"clip_l2": 1, "weight_max": 1},
                                         "privacy": {"level": "none", "noise_multiplier": NOISE, "target_delta": DELTA,
                                                     "epsilon_budget": budget}})

    def job(self, job):
        return self.site.coterie(f"job show {job} -o json")

    def round_of(self, population, name=None):
        self.site.take_part(name or population, self.tokens[population], SAMPLES)

    def rounds_done(self, job, count):
        self.site.wait_for_log(f'"job":"{job}".*"model_version":{count}' + "}")
        self.assertEqual(self.job(job)["rounds_done"], count)

    def ledger(self):
        with sqlite3.connect(f"file:{self.site.data}/coterie.sqlite3?mode=ro", uri=True) as database:
            return database.execute("SELECT seq, job, kind, hex(previous) FROM ledger ORDER BY seq").fetchall()


class OnSqlite(OperatingTest):
    def test_day_to_day(self):
        noisy = self.create_noisy_job(2)
        self.round_of("open")
        self.site.run("day-to-day")
        self.assertTrue((self.site.root / "work/enrollment.token").read_text().strip())
        self.site.run("job", JOB=noisy)
        self.assertEqual(self.job(noisy)["state"], "running")

    def test_a_restore_goes_on_and_spends_nothing_twice(self):
        noisy = self.create_noisy_job(2)
        self.round_of("noisy")
        self.rounds_done(noisy, 1)
        self.round_of("open")
        self.rounds_done(self.plain, 1)
        self.site.run("backup-sqlite")  # while it runs
        self.assertIn("ledger records: 2", self.site.run("check-backup"))
        self.site.shell("systemctl stop fl_server")
        self.site.run("backup-sqlite")
        before = self.ledger()
        self.site.run("restore-sqlite")
        self.assertEqual(self.ledger(), before)
        self.site.run("start")
        self.assertEqual(self.job(self.plain)["rounds_done"], 1)
        self.site.coterie(f"model download {self.plain} 1 -o restored.cotf")
        self.round_of("open")
        self.rounds_done(self.plain, 2)
        self.round_of("noisy")
        self.site.wait_for_log("budget is used up")
        self.assertEqual(self.job(noisy)["state"], "failed")
        self.assertEqual(len(self.ledger()), 4, "two releases, each reserved and committed, and no third")
        self.assertEqual(self.ledger()[:2], before)

    def test_a_backup_that_lacks_a_model_is_found(self):
        self.site.run("backup-sqlite")
        blobs = [p for p in (self.site.backups / "new/blobs").rglob("*") if p.is_file()]
        for blob in blobs:
            blob.unlink()
        self.assertIn("missing: ", self.site.run("check-backup", fails=True))

    def test_an_older_copy_releases_nothing_more(self):
        noisy = self.create_noisy_job(3)
        self.round_of("noisy")
        self.rounds_done(noisy, 1)
        self.round_of("open")
        self.rounds_done(self.plain, 1)
        self.site.run("backup-sqlite")
        self.round_of("noisy")
        self.rounds_done(noisy, 2)
        self.round_of("open")
        self.rounds_done(self.plain, 2)
        old_token = (self.site.data / "admin-token").read_text()
        old_key = (self.site.data / "keys/ticket.key").read_bytes()
        self.site.run("restore-sqlite")
        self.site.run("older-sqlite")
        ended = self.job(noisy)
        self.assertEqual(ended["state"], "cancelled")
        self.assertIn("older database", ended["reason"])
        self.site.coterie(f"job resume {noisy}", fails=True)
        self.assertEqual(len(self.ledger()), 2)
        self.assertNotEqual((self.site.data / "keys/ticket.key").read_bytes(), old_key)
        self.assertFalse((self.site.data / "keys/ticket-old.key").exists())
        (self.site.root / "work/old.token").write_text(old_token)
        self.site.coterie("--token-file old.token job list", fails=True)
        self.assertEqual(self.job(self.plain)["rounds_done"], 1)
        self.round_of("open", "fresh-device")
        self.rounds_done(self.plain, 2)
        self.assertEqual(len(self.ledger()), 2, "nothing was released")

    def test_an_upgrade_takes_a_database_of_the_version_before(self):
        self.round_of("open")
        self.rounds_done(self.plain, 1)
        self.site.shell("systemctl stop fl_server")
        with sqlite3.connect(self.site.data / "coterie.sqlite3") as database:
            for table in ("round_gates", "canary_source", "canary", "job_population", "population_budget", "fleet_node", "fleet_board", "model_release", "tenancy",
                          "tenant", "upload"):
                database.execute(f"DROP TABLE {table}")
            for statement in ("DROP INDEX device_by_seen_day", "ALTER TABLE device DROP COLUMN seen_day", "DROP TABLE device_day",
                              "DROP TRIGGER audit_is_never_cut", "DROP TABLE audit_segment",
                              "CREATE TRIGGER audit_is_never_cut BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'no'); END"):
                database.execute(statement)
            for table, column in (("admin_token", "tenant"), ("idempotency", "tenant"), ("job", "deleted"), ("accept", "examples"),
                                  ("round", "examples_median"), ("device", "checked_in"), ("round", "clip_norm"), ("model", "clip_norm"),
                                  ("model", "evaluation_mae"), ("model", "evaluation_r2"), ("model", "exact"), ("model", "deltas"), ("job", "trained_value_count"), ("round", "proximal_mu"),
                                  ("model", "proximal_mu"), ("model", "proximal_falls"), ("model", "watch"), ("model", "update_norms"), ("model", "update_cosines"),
                                  ("model", "evaluation_heads")):
                database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
            database.execute("PRAGMA user_version = 4")
        self.assertEqual(self.site.run("upgrade").splitlines()[0], "16")
        self.round_of("open")
        self.rounds_done(self.plain, 2)
        self.site.shell(f"systemctl stop fl_server; sqlite3 {self.site.data}/coterie.sqlite3 'PRAGMA user_version = 17'")
        self.assertIn("schema version 17", self.site.shell("systemctl start fl_server", fails=True))

    def test_tokens_are_replaced(self):
        old = (self.site.data / "admin-token").read_text()
        self.site.coterie("admin-token create --label grafana --role viewer")
        before = self.site.coterie("admin-token list -o json")["tokens"]
        self.site.run("rotate-tokens", ID=before[0]["id"])
        after = self.site.coterie("admin-token list -o json")["tokens"]
        self.assertEqual(len(after), 1)
        self.assertNotEqual(after[0]["id"], before[0]["id"])
        self.assertNotEqual((self.site.data / "admin-token").read_text(), old)

    def test_the_key_of_tickets_is_replaced(self):
        keys = self.site.data / "keys"
        old = (keys / "ticket.key").read_bytes()
        self.site.run("rotate-tickets")
        self.assertNotEqual((keys / "ticket.key").read_bytes(), old)
        self.assertEqual((keys / "ticket-old.key").read_bytes(), old)
        self.round_of("open")
        self.rounds_done(self.plain, 1)
        self.site.run("forget-old-tickets")
        self.round_of("open")
        self.rounds_done(self.plain, 2)

    def test_the_key_of_signatures_is_replaced(self):
        """Devices that were enrolled before go on: one that hears of it in time, and one that comes later."""
        key = self.site.data / "keys/signing.key"
        old = key.read_bytes()
        self.round_of("open", "early")
        self.rounds_done(self.plain, 1)
        self.round_of("open", "late")
        self.rounds_done(self.plain, 2)
        self.site.run("announce-signing-key")
        self.site.wait_for_log('"files_rotated".*"key_statements"')
        self.assertEqual(key.read_bytes(), old)
        self.round_of("open", "early")
        self.rounds_done(self.plain, 3)
        self.site.run("switch-signing-key")
        self.assertNotEqual(key.read_bytes(), old)
        for done, device in ((4, "early"), (5, "late"), (6, "fresh")):
            self.round_of("open", device)
            self.rounds_done(self.plain, done)
        self.site.run("revoke-old-signing-key")
        self.site.wait_for_log('"files_rotated".*"key_statements"')
        self.round_of("open", "early")
        self.rounds_done(self.plain, 7)
        self.site.run("forget-old-signing-key")

    def test_an_authority_is_replaced(self):
        self.site.run("rotate-authority")
        config = json.loads((self.site.root / "work/fl_server.json.new").read_text())
        self.assertRegex(config["authority_key"], "^[0-9a-f]{64}$")


class WithOwnCertificate(unittest.TestCase):
    def test_it_is_replaced_without_a_restart(self):
        site = here.Site(Path(tempfile.mkdtemp(prefix="operating-")), FL_SERVER, COTERIE, BLOCKS, lambda root: {})
        self.addCleanup(site.close)
        config = json.loads((site.etc / "fl_server.json").read_text())
        files = {"certificate_file": str(site.etc / "tls/server.pem"), "key_file": str(site.etc / "tls/server.key")}
        site.shell(f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
                   f"-keyout {files['key_file']} -out {files['certificate_file']}")
        site.configure({**config, "tls": files})
        site.start()
        address = ("127.0.0.1", int(site.url.rsplit(":", 1)[1]))
        before = ssl.get_server_certificate(address)
        site.run("rotate-tls")
        site.wait_for_log('"files_rotated"')
        after = ssl.get_server_certificate(address)
        self.assertNotEqual(after, before)
        self.assertEqual(after.strip(), (site.etc / "tls/server.pem").read_text().strip())


@unittest.skipUnless(here.Postgres.programs, "PostgreSQL is not installed: apt-get install postgresql")
class OnPostgres(OperatingTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="operating-pg-")
        self.addCleanup(folder.cleanup)
        Path(folder.name).chmod(0o755)
        self.postgres = here.Postgres(Path(folder.name) / "pg")
        self.addCleanup(self.postgres.stop)
        super().setUp()

    def store(self, root):
        (root / "etc/coterie/postgres").write_text(self.postgres.conninfo)
        return {"store": {"engine": "postgres", "conninfo_file": str(root / "etc/coterie/postgres")}, "node": "node-1",
                "keys_dir": str(root / "etc/coterie/keys"), "blobs_dir": str(root / "mnt/coterie")}

    def test_a_restore_goes_on(self):
        self.round_of("open")
        self.rounds_done(self.plain, 1)
        self.site.shell("systemctl stop fl_server")
        self.site.run("backup-postgres")
        self.site.run("restore-postgres")
        self.site.run("start")
        self.site.wait_for_log('"server_leads","epoch":2')  # it stands by until then
        self.assertEqual(self.job(self.plain)["rounds_done"], 1)
        self.round_of("open")
        self.rounds_done(self.plain, 2)

    def test_an_older_copy_releases_nothing_more(self):
        noisy = self.create_noisy_job(3)
        self.round_of("noisy")
        self.rounds_done(noisy, 1)
        self.site.run("backup-postgres")
        self.round_of("noisy")
        self.rounds_done(noisy, 2)
        self.site.run("restore-postgres")
        self.site.run("older-postgres")
        # The copy has the lease as it was then: it is over after lease.ttl_ms.
        self.site.shell(f"timeout 60 bash -c 'until coterie --data-dir {self.site.data} job list; do sleep 0.2; done'")
        self.assertEqual(self.job(noisy)["state"], "cancelled")
        self.assertEqual(self.job(self.plain)["state"], "running")
        self.round_of("open")
        self.rounds_done(self.plain, 1)


def tearDownModule():
    left = set(BLOCKS.runnable) - BLOCKS.ran
    if not here.Postgres.programs:
        left = {name for name in left if "postgres" not in name}
    print(f"{len(BLOCKS.ran)} blocks of docs/operating were run, {len(BLOCKS.not_run)} say why they cannot be")
    whole = len(sys.argv) == 5  # no test was picked
    if whole and left:
        raise AssertionError(f"these blocks were not run: {sorted(left)}")


if __name__ == "__main__":
    if here.missing_programs():
        print(f"skipped: install {' '.join(here.missing_programs())}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]] + sys.argv[5:], verbosity=2)
