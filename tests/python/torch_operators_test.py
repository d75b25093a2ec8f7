"""Each operator of the rows (torch/operator_rows.py), as PyTorch exports it: in every opset that it exports and we import, with
constant folding and without, for predicting and for training.

A cell holds what the imported model answers and the gradient of its first step against PyTorch's own, the gradient element by
element: elements are moved by the import, never computed, and no two are equal, so an element is found by its value. With folding
PyTorch's exporter may compute with weights (it folds a batch norm into the convolution before it): those are left out, never the shift.

    torch_operators_test.py [--all]    all opsets; else the first, the last and 13
"""
import argparse
import importlib.util
import io
import sys
import unittest
import warnings
from collections import Counter

import support  # first

if not importlib.util.find_spec("torch"):
    print("skipped: install python3-torch")
    sys.exit(77)

import numpy as np
import torch

import coterie
from coterie import Dataset, Model
from torch_rows import operator_rows

BATCH = 3
OPSET_MIN, OPSET_MAX = 11, 17  # what is imported, what PyTorch 1.13 exports
OPSETS = (OPSET_MIN, 13, OPSET_MAX)
VALUE_ERROR, GRADIENT_ERROR = 2e-5, 4e-4  # of the largest


def examples_of(row):
    random = np.random.default_rng(7)
    if row.tokens:
        return torch.tensor(random.integers(0, row.tokens, (BATCH, *row.shape)))
    return torch.tensor(random.uniform(row.low, row.high, (BATCH, *row.shape)).astype(np.float32))


def exported(module, x, opset, fold, training):
    mode = torch.onnx.TrainingMode
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x,), file, opset_version=opset, input_names=["x"], output_names=["y"], do_constant_folding=fold,
                          training=mode.TRAINING if training else mode.EVAL, dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}})
    return file.getvalue()


def channels_last(array):
    return array.transpose(0, *range(2, array.ndim), 1)


def fitting(array, shape, what):
    """The examples in the order that the model has: as they are, or channels last."""
    for laid in (array, channels_last(array) if array.ndim > 2 else array):
        if laid.shape[1:] == tuple(shape):
            return np.ascontiguousarray(laid)
    raise AssertionError(f"{what} is {array.shape[1:]} in PyTorch and {tuple(shape)} here")


def gradient_of(module, x, targets):
    module.zero_grad()
    torch.nn.functional.mse_loss(module(x), targets).backward()
    return {float(value): float(slope) for parameter in module.parameters()
            for value, slope in zip(parameter.detach().reshape(-1), parameter.grad.reshape(-1))}


class Operators(support.Folder, unittest.TestCase):
    opsets = OPSETS

    def test_predict_and_train_as_in_pytorch(self):
        seen = Counter()
        for row in operator_rows.all_rows():
            for opset in self.opsets:
                if opset < row.first_opset:
                    continue
                for fold in (True, False):
                    for training in (False, True) if row.trains else (False,):
                        mode = "training" if training else "predicting"
                        with self.subTest(row.name, opset=opset, fold=fold, mode=mode):
                            seen[self.expect_cell(row, opset, fold, training)] += 1
        print(f"{sum(seen.values())} cells of {len(operator_rows.all_rows())} rows: " +
              ", ".join(f"{count} {what}" for what, count in sorted(seen.items())))

    def expect_cell(self, row, opset, fold, training):
        torch.manual_seed(20)
        module = operator_rows.Shifted(row).train(training)
        x = examples_of(row)
        place = self.folder / "row.onnx"
        try:
            place.write_bytes(exported(module, x, opset, fold, training))
        except (torch.onnx.errors.UnsupportedOperatorError, torch.onnx.errors.SymbolicValueError):
            return "not exported by PyTorch"
        module.train(training)
        trainable = [] if row.tokens else ["shift"]
        if row.refused:
            with self.assertRaisesRegex(coterie.CoterieError, row.refused):
                Model.from_onnx(place, trainable=trainable)
            return "refused by name"
        model = Model.from_onnx(place, trainable=trainable)
        inputs = fitting(x.numpy(), model.inputs[0].shape, "the input")
        with torch.no_grad():
            module.eval()
            answer = module(x).numpy()
            module.train(training)
        predicted = model.predict(inputs)
        answer = fitting(answer, predicted.shape[1:], "the output")
        np.testing.assert_allclose(predicted, answer, rtol=0, atol=VALUE_ERROR * max(1, float(np.abs(answer).max())))
        return self.expect_gradient(row, model, module, x, inputs, training)

    def expect_gradient(self, row, model, module, x, inputs, training):
        if not row.trains:
            return "predicted"
        torch.manual_seed(3)
        targets = torch.rand(module(x).shape)
        slopes = gradient_of(module, x, targets)
        laid = fitting(targets.numpy(), model.output.shape, "the target")
        with coterie.Trainer(model, Dataset.from_numpy(inputs, laid.reshape(BATCH, -1)), loss="mean_squared_error", learning_rate=1.0,
                             batch_size=BATCH, freeze_statistics=not training) as trainer:
            trainer.step()
            trained = trainer.model()
        largest = max(abs(slope) for slope in slopes.values())
        found = 0
        for info in model.parameters:
            for before, after in zip(model[info.name].reshape(-1), trained[info.name].reshape(-1)):
                if float(before) not in slopes:
                    continue  # a running statistic, or computed by the exporter
                found += 1
                self.assertAlmostEqual(float(before) - float(after), slopes[float(before)], delta=2e-5 + GRADIENT_ERROR * largest,
                                       msg=f"the gradient of {info.name}")
        if not row.tokens:
            self.assertGreaterEqual(found, module.shift.numel(), "elements of which PyTorch has a gradient")
        return "predicted and trained" if found == len(slopes) else "predicted, and trained but for weights that the exporter computed"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="all opsets")
    arguments, rest = parser.parse_known_args()
    if arguments.all:
        Operators.opsets = range(OPSET_MIN, OPSET_MAX + 1)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
