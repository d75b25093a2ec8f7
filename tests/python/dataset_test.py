"""Dataset: what arrays and tables become, what is refused, who keeps what alive."""
import gc
import unittest

import support  # first

import numpy as np

import coterie
from coterie import Dataset, Model, Trainer


class Arrays(support.Folder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.model = Model.load(support.SAMPLES / "mlp.cotf")
        self.images, self.labels = support.learnable(12)

    def test_what_are_no_examples_is_refused(self):
        images, labels = self.images, self.labels
        with_nan = images.copy()
        with_nan[3, 0, 0, 0] = np.inf
        for inputs, targets, error, words in (
                (images, labels[:5], ValueError, "12 examples, the target 5"), (images[:0], labels[:0], ValueError, "no examples"),
                (with_nan, labels, ValueError, r"inf at \[3, 0, 0, 0\]"), (images, labels - 1, ValueError, "negative"),
                (images, labels + 2**40, ValueError, "int32"), (images, labels * np.nan, ValueError, "nan"),
                (images, ["a"] * 12, TypeError, "dtype"), (images.astype(complex), labels, TypeError, "complex"),
                (np.array(["2026-11-25"], "M8[D]"), [1], TypeError, "datetime"), ([], [], ValueError, "no examples"),
                (np.ma.masked_greater(images, 0.5), labels, TypeError, "masked"), (3.0, 1, ValueError, "no examples"),
                ((images, labels[:3]), labels, ValueError, "input 1 has 3 examples")):
            with self.assertRaisesRegex(error, words):
                Dataset.from_numpy(inputs, targets)

    def test_what_does_not_fit_the_model_is_said_before_it_is_read(self):
        for inputs, error, words in ((self.images[:, :2], ValueError, r"'input' takes 16 numbers .* the data set has 8"),
                                     ((self.images, self.images), ValueError, "takes 1 inputs, the data set has 2"),
                                     ((self.images * 255).astype(int), TypeError, "takes float32, the data set has int32")):
            with self.assertRaisesRegex(error, words):
                self.model.evaluate((inputs, self.labels))
        with self.assertRaisesRegex(coterie.InvalidArgument, r"label outside \[0, 3\)"):
            self.model.evaluate((self.images, self.labels + 1))
        for wrong in (self.images, (self.images,), [self.images, self.labels], None):
            with self.assertRaisesRegex(TypeError, "examples are a Dataset"):
                self.model.evaluate(wrong)

    def test_floats_of_c_order_are_read_where_they_lie(self):
        data = Dataset.from_numpy(self.images, self.labels)
        before = self.model.evaluate(data).loss
        self.images[:] = 0
        self.assertNotEqual(self.model.evaluate(data).loss, before)
        self.assertTrue(np.shares_memory(data.inputs, self.images))
        self.assertFalse(np.shares_memory(Dataset.from_numpy(self.images.astype(float), self.labels).inputs, self.images))

    def test_arrays_live_as_long_as_somebody_reads_them(self):
        trainer = Trainer(self.model, (self.images.copy(), self.labels.copy()), epochs=50)
        for _ in range(3):
            gc.collect()
            np.random.default_rng(0).random((12, 16))  # takes the room of what was freed
        self.assertTrue(trainer.run().finished)

    def test_a_file_that_is_closed_is_given_back_behind_its_last_reader(self):
        data = Dataset.open(support.SAMPLES / "images.cotf")
        source = data._source
        trainer = Trainer(self.model, data)
        data.close()
        data.close()
        self.assertTrue(source.struct.context)
        with self.assertRaisesRegex(coterie.ClosedError, "data set is closed"):
            Trainer(self.model, data)
        with self.assertRaises(coterie.ClosedError):
            len(data)
        self.assertTrue(trainer.run().finished)
        trainer.close()
        self.assertFalse(source.struct.context)
        for name in ("none.cotf", "mlp.cotf"):
            with self.assertRaises(coterie.CoterieError):
                Dataset.open(support.SAMPLES / name)

    def test_a_trainer_that_fails_to_open_reads_nothing_more(self):
        data = Dataset.from_numpy(self.images, self.labels)
        with self.assertRaises(coterie.InvalidArgument):
            Trainer(self.model, data, optimizer="none")
        self.assertEqual(data._source.readers, 0)
        with self.assertRaises(coterie.InvalidArgument):
            self.model.evaluate(data, loss="none")
        self.assertEqual(data._source.readers, 0)


class Tables(support.Folder, unittest.TestCase):
    def write(self, text, name="table.csv"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_numbers_are_standardised_and_categories_one_hot(self):
        data = Dataset.from_csv(self.write('a,colour,same,kind\n1,red,7,yes\n3,"blue, dark",7,no\n\n5,red,7,yes\n'), "kind")
        deviation = np.sqrt(8 / 3)
        np.testing.assert_allclose(data.inputs, [[-2 / deviation, 0, 1, 0], [0, 1, 0, 0], [2 / deviation, 0, 1, 0]], rtol=1e-6)
        np.testing.assert_array_equal(data.targets, [1, 0, 1])
        self.assertEqual(data.encoding.classes, ("no", "yes"))

    def test_another_table_gets_the_same_numbers(self):
        train = Dataset.from_csv(self.write("a,c,t\n1,x,10\n3,y,9\n"), "t")
        test = Dataset.from_csv(self.write("t,c,a\n10,y,5\n", "test.csv"), "t", encoding=train.encoding)
        np.testing.assert_allclose(test.inputs, [[3, 0, 1]])
        self.assertEqual(train.encoding.classes, ("9", "10"))
        np.testing.assert_array_equal(test.targets, [1])
        for text, words in (("a,c,t\n1,z,9\n", "does not know 'z'"), ("a,t\n1,9\n", "no column 'c'"),
                            ("a,c,t\n1,x,11\n", "does not know '11'"), ("a,c,t\nb,x,9\n", "'b' is no number")):
            with self.assertRaisesRegex(ValueError, words):
                Dataset.from_csv(self.write(text), "t", encoding=train.encoding)
        with self.assertRaisesRegex(ValueError, "another target"):
            Dataset.from_csv(self.write("a,c,t\n1,x,9\n"), "t", regression=True, encoding=train.encoding)

    def test_a_regression_has_numbers_as_they_stand_there(self):
        data = Dataset.from_csv(self.write("\ufeffa,t\n1,-2.5\n2,1e3\n"), "t", regression=True)
        np.testing.assert_array_equal(data.targets, np.float32([[-2.5], [1000]]))
        self.assertTrue(data.targets_are_values)

    def test_several_targets_are_a_row_of_each_example(self):
        text = "a,kind,age,b\n1,x,30,5\n3,y,40,7\n5,x,50,9\n"
        train = Dataset.from_csv(self.write(text), ["age", "kind"], regression=[True, False])
        np.testing.assert_array_equal(train.targets, np.float32([[30, 0], [40, 1], [50, 0]]))
        self.assertEqual(train.targets.dtype, np.float32)
        self.assertEqual(train.inputs.shape, (3, 2))
        self.assertEqual((train.encoding.target, train.encoding.classes), (("age", "kind"), (None, ("x", "y"))))
        test = Dataset.from_csv(self.write("kind,b,a,age\ny,1,1,7\n", "test.csv"), ("age", "kind"), regression=(True, False),
                                encoding=train.encoding)
        np.testing.assert_array_equal(test.targets, np.float32([[7, 1]]))
        classes = Dataset.from_csv(self.write(text), ("age", "kind"))
        self.assertEqual(classes.targets.dtype, np.int32)
        np.testing.assert_array_equal(classes.targets, [[0, 0], [1, 1], [2, 0]])
        for targets, options, words in (
                (["age", "kind"], {"encoding": train.encoding}, "another target"),
                (["kind", "age"], {"encoding": train.encoding, "regression": [False, True]}, "another target"),
                (["age", "age"], {}, "different columns"), ([], {}, "there is none"), (["age", "size"], {}, "no column 'size'"),
                (["a", "kind", "age", "b"], {}, "nothing but the targets"),
                (["age", "kind"], {"regression": [True]}, "regression has 1 entries")):
            with self.assertRaisesRegex(ValueError, words):
                Dataset.from_csv(self.write(text), targets, **options)

    def test_mistakes_name_line_and_column(self):
        for text, words in (("a,t\n1,x\n2\n", "line 3 has 1 fields, the header 2"), ("a,t\n1,x\n,y\n", "line 3, column 'a'"),
                            ("a,t\n", "no rows"), ("", "no rows"), ("a,b\n1,2\n", "no column 't'; there are a, b"),
                            ("t\n1\n", "nothing but the target"), ("a,a,t\n1,2,3\n", "same name"),
                            ('a,t\n"1,x\n', "line 2"), ('a,t\n"1"2,x\n', "line 2"),
                            ("a,t\n" + "".join(f"v{i},x\n" for i in range(1001)), "1001 different texts")):
            with self.assertRaisesRegex(ValueError, words):
                Dataset.from_csv(self.write(text), "t")
        (self.folder / "binary.csv").write_bytes(b"a,t\n\xff\xfe,1\n")
        with self.assertRaises(ValueError):
            Dataset.from_csv(self.folder / "binary.csv", "t")
        with self.assertRaises(FileNotFoundError):
            Dataset.from_csv(self.folder / "none.csv", "t")
        with self.assertRaisesRegex(ValueError, "no number"):
            Dataset.from_csv(self.write("a,t\n1,nan\n"), "t", regression=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
