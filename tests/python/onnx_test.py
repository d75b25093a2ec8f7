"""ONNX through the program `coterie`, and what is said without it."""
import os
import pathlib
import unittest
from unittest import mock

import support  # first

import numpy as np

import coterie
from coterie import Code, Model


class Onnx(support.Folder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.model = Model.load(support.SAMPLES / "mlp.cotf")

    def test_goes_out_and_comes_back_with_equal_outputs(self):
        images, _ = support.learnable()
        place = self.folder / "-a model.onnx"
        try:
            self.model.to_onnx(place)
        except coterie.CoterieError as error:
            if "built without ONNX" in error.text:
                self.skipTest("this coterie was built without ONNX")
            raise
        np.testing.assert_allclose(Model.from_onnx(place).predict(images), self.model.predict(images), rtol=1e-5, atol=1e-6)

    def test_tflite_comes_in(self):
        seed = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "corpus" / "tflite" / "hand-floats"
        try:
            model = Model.from_tflite(seed)
        except coterie.CoterieError as error:
            if "has no ONNX" in error.text:
                self.skipTest("this coterie was built without ONNX")
            raise
        answers = model.predict(np.zeros((2, 4, 4, 1), np.float32))
        np.testing.assert_allclose(answers.sum(axis=1), [1, 1], rtol=1e-6)  # a softmax

    def test_what_the_program_says_comes_out(self):
        (self.folder / "bad.onnx").write_bytes(b"nothing")
        for place in ("bad.onnx", "none.onnx"):
            with self.assertRaises(coterie.CoterieError) as caught:
                Model.from_onnx(self.folder / place)
            self.assertEqual(caught.exception.code, Code.INVALID_ARGUMENT)
            self.assertIn("coterie model convert: ", caught.exception.text)
        with self.assertRaises(coterie.CoterieError):
            self.model.to_onnx(self.folder / "no" / "folder.onnx")

    def test_without_the_program_it_says_so(self):
        with mock.patch.dict(os.environ, {"COTERIE_PROGRAM": "", "PATH": str(self.folder)}):
            with self.assertRaisesRegex(FileNotFoundError, "the program `coterie`.*'coterie' was not found.*COTERIE_PROGRAM"):
                self.model.to_onnx(self.folder / "x.onnx")
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            Model.from_onnx("x.onnx", program="/nowhere")


if __name__ == "__main__":
    unittest.main(verbosity=2)
