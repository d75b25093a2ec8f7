"""The annotations are true, and a user's mistakes are seen before a program runs; by mypy, where it is installed."""
import importlib.util
import subprocess
import sys
import unittest

import support  # first

if not importlib.util.find_spec("mypy"):
    print("skipped: install mypy")
    sys.exit(77)

PACKAGE = support.ROOT / "bindings/python"
USE = """
import numpy as np
import coterie
model = coterie.Model.load("model.cotf")
data = np.zeros((2, 3)), np.zeros(2, int)
trained: coterie.Model = model.train(data, epochs=3, learning_rate=0.1, freeze=["a"], on_step=lambda step: step.steps > 3)
loss: float = trained.evaluate(data, loss="l1").loss
policy = coterie.Policy(coterie.SecurityLevel.MASKED, cohort_min=3)
"""
MISTAKES = {"model.train(data, epoch=3)": "call-arg", "model.train(data, epochs='3')": "arg-type", "model.lode('x')": "attr-defined",
            "coterie.Policy(cohort=3)": "call-arg", "text: str = model.evaluate(data).loss": "assignment"}


class Types(support.Folder, unittest.TestCase):
    def mypy(self, *arguments):
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--enable-incomplete-feature=Unpack", "--cache-dir",
                               self.folder / "cache", *arguments], cwd=PACKAGE, capture_output=True, text=True)

    def test_the_package_and_its_use_are_well_typed(self):
        use = self.folder / "use.py"
        use.write_text(USE)
        done = self.mypy("coterie", use)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_mistakes_are_seen(self):
        use = self.folder / "use.py"
        use.write_text(USE + "\n".join(MISTAKES))
        done = self.mypy(use)
        first = USE.count("\n") + 1
        for number, (line, word) in enumerate(MISTAKES.items(), first):
            self.assertRegex(done.stdout, rf"use\.py:{number}: error: .*\[{word}\]", line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
