#!/usr/bin/env python3
"""cmake/ops_from.py on texts and on the golden model file."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake"))
import ops_from as ops_from_module  # noqa: E402


def ops_from(*contents):
    """(ops, families, kernels, ways left out) of files with these contents; or what it says on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, data in enumerate(contents):
            paths.append(pathlib.Path(folder) / f"file{i}")
            paths[-1].write_bytes(data)
        done = subprocess.run([sys.executable, "-B", ROOT / "cmake/ops_from.py", ROOT, *paths], capture_output=True, text=True)
        if done.returncode:
            return done.stderr
        return tuple(set(line.split(";")) - {""} for line in done.stdout.splitlines())


def golden_model():
    return bytes.fromhex("".join((ROOT / "tests/golden/wire/model.typical.hex").read_text().split()))


class OpsFromTest(unittest.TestCase):
    always = {"elementwise", "loss", "optimizer"}

    def test_of_texts(self):
        self.assertEqual(ops_from(b"dense relu\n# conv2d\n", b"lstm")[:2],
                         ({"dense", "relu", "lstm"}, self.always | {"dense", "rnn"}))
        self.assertEqual(ops_from(b"flatten l1")[:2], ({"flatten"}, self.always | {"elementwise_loss"}))
        # What a rule calls: batch norm's running statistics are the optimizer's kernels, an expansion's gradient a sum.
        self.assertEqual(ops_from(b"batch_norm expand")[1], self.always | {"batch_norm", "binary"})

    def test_of_models(self):
        model = golden_model()
        ops, families, _, _ = ops_from(model)
        self.assertIn("dense", ops)
        self.assertLessEqual(self.always | {"dense"}, families)
        self.assertEqual(ops_from(model, b"lstm")[0], ops | {"lstm"})

    def test_kernels_are_those_that_the_rule_calls(self):
        kernels = ops_from(b"max_pool2d")[2]
        self.assertLessEqual({"max_pool2d_forward", "max_pool2d_backward", "sgd_step", "cross_entropy"}, kernels)
        self.assertFalse({k for k in kernels if k.startswith(("average", "adaptive", "dense")) or "::" in k})

    def test_of_many_functions_only_those_that_are_named(self):
        def functions(text):
            return {k for k in ops_from(text)[2] if "::" in k}
        self.assertEqual(functions(b"relu6 gelu"), {"Unary::relu6", "Unary::gelu_erf"})
        self.assertEqual(functions(b"selu pow"), {"Unary::elu", "Binary::pow"})
        self.assertEqual(functions(b"expand"), {"Binary::add"})
        self.assertFalse({k for k in ops_from(b"softmax")[2] if k.startswith("log_softmax")})

    def test_losses_and_optimizers(self):
        kernels = ops_from(b"dense")[2]
        self.assertFalse({"adam_step", "lion_step", "element_loss", "triplet_margin"} & kernels)
        self.assertLessEqual({"adamw_step", "element_loss"}, ops_from(b"dense adamw huber")[2])

    def test_ways_to_compute_a_convolution(self):
        every = {"depthwise", "fft", "winograd", "winograd_4x4"}
        self.assertEqual(ops_from(b"dense")[3], every)
        self.assertEqual(ops_from(b"conv2d")[3], set())
        self.assertEqual(ops_from(b"conv2d -winograd")[3], {"winograd", "winograd_4x4"})
        self.assertEqual(ops_from(b"conv2d -winograd_4x4")[3], {"winograd_4x4"})
        self.assertEqual(ops_from(b"conv2d -winograd", b"conv2d -depthwise")[3], set())
        self.assertEqual(ops_from(b"conv_transpose2d")[3], set())
        self.assertEqual(ops_from(golden_model())[3], every)
        self.assertEqual(ops_from_module.ways_for("conv2d", 8, [5, 5, 1, 8]), {"depthwise"})
        self.assertEqual(ops_from_module.ways_for("conv2d", 1, [3, 3, 1, 8]), {"winograd", "winograd_4x4"})
        self.assertEqual(ops_from_module.ways_for("conv2d", 1, [5, 5, 1, 8]), set())
        self.assertEqual(ops_from_module.ways_for("conv2d", 1, [7, 9, 1, 8]), {"fft"})
        self.assertEqual(ops_from_module.ways_for("conv2d", 8, [31, 31, 1, 8]), {"depthwise", "fft"})

    def test_features_that_every_list_leaves_out(self):
        ways = {"depthwise", "fft", "winograd", "winograd_4x4"}
        self.assertEqual(ops_from(b"dense -avx2")[3] - ways, {"avx2", "avx512"})
        self.assertEqual(ops_from(b"dense -augmentation", b"relu")[3] - ways, set())
        self.assertEqual(ops_from(golden_model(), b"relu -joined_steps -memory_limit")[3] - ways, {"joined_steps", "memory_limit"})

    def test_features_have_one_list(self):
        features = ops_from_module.FEATURES
        of_crop = ops_from_module.enumerators(ROOT / "tools/crop/crop_needs.h", "BuildFeature")
        self.assertEqual(set(of_crop.values()), features)
        runtime = ROOT / "device_sdk/runtime"
        constants = {name.lower() for name in re.findall(r"#ifdef COTERIE_NO_(\w+)", (runtime / "left_out.h").read_text())}
        self.assertLessEqual(constants, features)
        defined = re.search(r"foreach\(feature IN ITEMS ([\w ]+)\)", (runtime / "CMakeLists.txt").read_text()).group(1)
        self.assertLessEqual(constants, set(defined.split()))

    def test_a_feature_that_is_left_out_takes_its_kernels_with_it(self):
        of_features = {"narrow", "widen", "round_onto_grid", "least_and_largest"}
        self.assertLessEqual(of_features, ops_from(b"dense")[2])
        self.assertFalse(of_features & ops_from(b"dense -bf16 -qat")[2])
        self.assertEqual(ops_from(b"dense")[2] - ops_from(b"dense -soft_labels")[2], {"cross_entropy_of_targets"})
        self.assertEqual(of_features & ops_from(b"dense -qat")[2], {"narrow", "widen"})

    def test_rules_write_the_kernels_they_call_as_it_reads_them(self):
        known = ops_from_module.family_of_kernels(ROOT)
        for source in (ROOT / "device_sdk/runtime").rglob("*.cc"):
            text = re.sub(r"//[^\n]*", "", source.read_text())
            for after in re.findall(r"(?<!::)\bkernels\b(?!/)(?!::)(.{0,40})", text):
                named = re.match(r"\.(\w+)", after)
                self.assertTrue(named and named[1] in known | {"name": 0} or re.match(r" = (\w+\.kernels;|kernels::kernels\(\)|kernels_of\(|training_kernels\(|kernels, )|\) {", after),
                                f"{source.name}: kernels{after}")
            if source.parent.name == "ops" and "OpKind::" not in text:  # a helper, which no op owns
                self.assertFalse(ops_from_module.kernels_in(text, known), source.name)

    def test_every_op_is_some_rules(self):
        self.assertEqual(len(ops_from(b"identity tanh reduce_l2 maximum gelu_tanh attention resize2d where")[0]), 8)

    def test_says_what_is_wrong(self):
        self.assertIn("names conv2, dens: no op, loss or optimizer", ops_from(b"conv2 dens relu"))
        self.assertIn("no op is named", ops_from(b"# nothing"))
        self.assertIn("is no model file", ops_from(golden_model()[:60]))
        self.assertIn("is no model file", ops_from(b"COTF" + bytes(40)))


if __name__ == "__main__":
    unittest.main()
