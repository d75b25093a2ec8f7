"""examples/train/train.py is the program that train.c is: it prints the same, and its model has the same bytes.

Usage: example_test.py FOLDER TRAIN_C"""
import os
import subprocess
import sys
import unittest
from pathlib import Path

import support  # first

FOLDER, TRAIN_C = Path(sys.argv[1]), sys.argv[2]


class Example(unittest.TestCase):
    def run_program(self, *program, environment=None):
        output = FOLDER / "example.cotf"
        done = subprocess.run([*program, support.SAMPLES / "mlp.cotf", support.SAMPLES / "images.cotf", output],
                              env={**os.environ, **(environment or {})}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, output.read_bytes()

    def test_is_the_program_that_the_one_in_c_is(self):
        python = self.run_program(sys.executable, "-B", support.ROOT / "examples/train/train.py", environment=support.SANITIZER)
        self.assertEqual(python, self.run_program(TRAIN_C))
        self.assertIn("step 10: ", python[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
