"""The notebooks of examples/notebook are executed, cell by cell, as Jupyter would; and are kept without outputs."""
import contextlib
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

import support  # first

NOTEBOOKS = sorted((support.ROOT / "examples/notebook").glob("*.ipynb"))
ROUNDS = 2


class StopsWhatItStarted(dict):
    """The names of a notebook: what a cell that failed left running ends with the test."""

    def stop(self):
        for client in self.get("clients", []):
            client.close()
        if "server" in self:
            self["server"].kill()
            self["server"].wait()


class Tee(io.StringIO):
    """What is printed, and seen at once by whoever waits for a test that hangs."""

    def write(self, text):
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        return super().write(text)


def run(path, names):
    """The text that the cells print."""
    printed = Tee()
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(printed):
                exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)
    return printed.getvalue()


class Notebooks(support.Folder, unittest.TestCase):
    def test_are_kept_without_outputs(self):
        self.assertEqual([path.name for path in NOTEBOOKS], ["federated_digits.ipynb", "fine_tune_pytorch.ipynb"])
        for path in NOTEBOOKS:
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                self.assertFalse(cell.get("outputs") or cell.get("execution_count"), f"{path.name}: clear its outputs")

    def executed(self, name):
        """The names of the notebook and what it prints, run in the folder where it lies."""
        names = StopsWhatItStarted()
        self.addCleanup(names.stop)
        self.enterContext(mock.patch.dict(os.environ, {"ROUNDS": str(ROUNDS)}))
        self.enterContext(mock.patch.object(tempfile, "tempdir", str(self.folder)))
        self.addCleanup(os.chdir, os.getcwd())
        path, = (path for path in NOTEBOOKS if path.name == name)
        os.chdir(path.parent)
        return names, run(path, names)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed: apt-get install python3-torch")
    def test_a_network_of_pytorch_is_fine_tuned_and_comes_back(self):
        names, printed = self.executed("fine_tune_pytorch.ipynb")
        self.assertIn(f"after {ROUNDS} rounds of 20 devices", printed)
        self.assertLess(names["there"], 1e-4)
        self.assertLess(names["back"], 1e-4)
        self.assertGreater(names["after"], names["before"])
        chart, = self.folder.glob("coterie-*/accuracy.svg")
        self.assertEqual(chart.read_text().count("<circle"), ROUNDS + 1)

    def test_twenty_devices_learn_digits(self):
        names, printed = self.executed("federated_digits.ipynb")
        self.assertIn("completed with 0 refusals", printed)
        self.assertEqual(len(re.findall(r"^round  \d/2  20 devices  accuracy", printed, re.M)), ROUNDS)
        self.assertGreater(names["accuracy"][-1], names["accuracy"][0] + 0.2)
        chart, = self.folder.glob("coterie-*/accuracy.svg")
        self.assertIn("<polyline", chart.read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
