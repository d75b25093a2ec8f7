#!/usr/bin/env python3
"""What docs/operating/upgrade.md promises of a fleet, with the program of the version before: no round fails.

Usage: beside_test.py ROOT OLD_FL_SERVER FL_SERVER COTERIE SAMPLES
The build runs it where COTERIE_PREVIOUS_FL_SERVER says which that is.
"""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import operating_site as here  # noqa: E402

OLD, NEW, COTERIE, SAMPLES = sys.argv[2:6]
ROUNDS = 20


class Beside(unittest.TestCase):
    def setUp(self):
        self.shared = Path(tempfile.mkdtemp(prefix="beside-"))
        self.addCleanup(shutil.rmtree, self.shared, ignore_errors=True)
        self.shared.chmod(0o755)
        self.postgres = here.Postgres(self.shared / "pg")
        self.addCleanup(self.postgres.stop)
        (self.shared / "conninfo").write_text(self.postgres.conninfo)

    def server(self, program, node):
        store = {"engine": "postgres", "conninfo_file": str(self.shared / "conninfo")}
        config = {"store": store, "node": node, "keys_dir": str(self.shared / "keys"), "blobs_dir": str(self.shared)}
        site = here.Site(Path(tempfile.mkdtemp(prefix="beside-")), program, COTERIE, None, lambda root: config)
        self.addCleanup(site.close)
        return site

    def schema_version(self):
        question = "--command=SELECT version FROM coterie.schema_version"
        done = subprocess.run(["psql", "--tuples-only", "--no-align", question, self.postgres.conninfo],
                              capture_output=True, text=True, check=True)
        return int(done.stdout)

    def rounds_of(self, site, job):
        return site.coterie(f"job rounds {job} --limit 1000 -o json")["rounds"]

    def test_twenty_rounds_each_and_none_fails(self):
        old, new = self.server(OLD, "old"), self.server(NEW, "new")
        old.start()
        before = self.schema_version()
        token = old.coterie("token create --uses 9").strip()
        path = old.root / "work/job.json"
        path.write_text('{"name": "beside", "rounds": {"count": 1000, "goal_count": 1, "pool_min": 1},'
                        ' "privacy": {"level": "none"}}')
        job = old.coterie(f"job create {path} --model {SAMPLES}/mlp.cotf -o json")["id"]
        old.take_part("device", token, SAMPLES, rounds=3)
        new.start()
        self.assertGreater(self.schema_version(), before, "it has migrated")
        old.take_part("device", token, SAMPLES, rounds=ROUNDS)
        old.shell("systemctl stop fl_server")
        new.wait_for_log('"server_leads"')
        (old.root / "work" / "device").rename(new.root / "work" / "device")
        new.take_part("device", token, SAMPLES, rounds=ROUNDS)
        new.wait_for_log(f'"model_version":{3 + 2 * ROUNDS}' + "}")
        rounds = [r for r in self.rounds_of(new, job) if r["number"] <= 3 + 2 * ROUNDS]
        self.assertEqual([r["state"] for r in rounds], ["done"] * (3 + 2 * ROUNDS))
        self.assertEqual({r["attempt"] for r in rounds}, {1}, "each at its first attempt")
        self.assertIn(f"this server speaks {before}", old.shell("systemctl start fl_server", fails=True))
        print(f"schema {before} -> {self.schema_version()}: {ROUNDS} rounds led by the old server beside the new one, "
              f"then {ROUNDS} by the new one")


if __name__ == "__main__":
    if not here.Postgres.programs:
        print("skipped: install postgresql")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
