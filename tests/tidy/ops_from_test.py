#!/usr/bin/env python3
"""cmake/ops_from.py on texts and on the golden model file."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ops_from(*contents):
    """(ops, families) of files with these contents; or what it says on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, data in enumerate(contents):
            paths.append(pathlib.Path(folder) / f"file{i}")
            paths[-1].write_bytes(data)
        done = subprocess.run([sys.executable, "-B", ROOT / "cmake/ops_from.py", ROOT, *paths], capture_output=True, text=True)
        if done.returncode:
            return done.stderr
        return tuple(set(line.split(";")) for line in done.stdout.splitlines())


def golden_model():
    return bytes.fromhex("".join((ROOT / "tests/golden/wire/model.typical.hex").read_text().split()))


class OpsFromTest(unittest.TestCase):
    always = {"elementwise", "loss", "optimizer"}

    def test_of_texts(self):
        self.assertEqual(ops_from(b"dense relu\n# conv2d\n", b"lstm"), ({"dense", "relu", "lstm"}, self.always | {"dense", "rnn"}))
        self.assertEqual(ops_from(b"flatten l1"), ({"flatten"}, self.always | {"elementwise_loss"}))
        # What a rule calls: batch norm's running statistics are the optimizer's kernels, an expansion's gradient a sum.
        self.assertEqual(ops_from(b"batch_norm expand")[1], self.always | {"batch_norm", "binary"})

    def test_of_models(self):
        model = golden_model()
        ops, families = ops_from(model)
        self.assertIn("dense", ops)
        self.assertLessEqual(self.always | {"dense"}, families)
        self.assertEqual(ops_from(model, b"lstm")[0], ops | {"lstm"})

    def test_every_op_is_some_rules(self):
        self.assertEqual(len(ops_from(b"identity tanh reduce_l2 maximum gelu_tanh attention resize2d where")[0]), 8)

    def test_says_what_is_wrong(self):
        self.assertIn("names conv2, dens, which is neither an op nor a loss", ops_from(b"conv2 dens relu"))
        self.assertIn("no op is named", ops_from(b"# nothing"))
        self.assertIn("is no model file", ops_from(golden_model()[:60]))
        self.assertIn("is no model file", ops_from(b"COTF" + bytes(40)))


if __name__ == "__main__":
    unittest.main()
