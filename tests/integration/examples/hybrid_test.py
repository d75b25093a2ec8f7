"""examples/hybrid: a vertical job that begins with bottoms which devices trained is better than one that does not.

Usage: hybrid_test.py COTERIE [--simulate]
Exits with 77 when something is not installed.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COTERIE, *MODE = sys.argv[1:]
# One job with bottoms that devices trained is worse than one without in 7 of 100: the difference of their AUCs has mean
# 0.0255 and standard deviation 0.017 (60 jobs of each). A mean of 12 is below zero once in ten million.
TIMES = "12"
EXAMPLE = Path(__file__).resolve().parents[3] / "examples/hybrid/hybrid.py"
if not shutil.which("openssl"):
    print("skipped: install openssl")
    sys.exit(77)


class Hybrid(unittest.TestCase):
    def test_bottoms_that_devices_trained_are_worth_something(self):
        out = Path(tempfile.mkdtemp(prefix="hybrid-")) / "run"
        self.addCleanup(shutil.rmtree, out.parent)
        done = subprocess.run([sys.executable, "-B", EXAMPLE, out, "--coterie", COTERIE, "--times", TIMES, *MODE],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        areas = dict(re.findall(r"^(bottoms that devices trained|fresh bottoms) +(0\.\d{4})$", done.stdout, re.M))
        trained, fresh = float(areas["bottoms that devices trained"]), float(areas["fresh bottoms"])
        self.assertGreater(trained, fresh, done.stdout)
        for name in ("left", "right"):
            begun = f"training: begins with the bottom of ./{name}_run/model.cotf"
            self.assertIn(begun, (out / f"{name}_with.log").read_text())
            self.assertNotIn("begins with", (out / f"{name}_without.log").read_text())
        self.assertEqual((out / "label_known.csv.gz").read_bytes()[:2], b"\x1f\x8b", "a packed table")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
