"""Model and Trainer: what they say, learn, keep and refuse."""
import copy
import gc
import pickle
import unittest

import support  # first

import numpy as np

import coterie
from coterie import Code, Dataset, Model, Trainer


class Models(support.Folder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.model = Model.load(support.SAMPLES / "mlp.cotf")
        self.images, self.labels = support.learnable()

    def test_says_what_it_is(self):
        self.assertEqual((self.model.name, self.model.inputs[0].shape, self.model.output.shape), ("mlp", (4, 4, 1), (3,)))
        self.assertEqual([one.name for one in self.model.parameters],
                         ["dense1.weight", "dense1.bias", "dense2.weight", "dense2.bias"])
        self.assertIn("1,283 parameters", repr(self.model))

    def test_predicts_what_its_parameters_say(self):
        hidden = np.maximum(self.images.reshape(-1, 16) @ self.model["dense1.weight"] + self.model["dense1.bias"], 0)
        expected = hidden @ self.model["dense2.weight"] + self.model["dense2.bias"]
        np.testing.assert_allclose(self.model.predict(self.images), expected, rtol=1e-4, atol=1e-5)

    def test_takes_arrays_of_any_layout_and_type_of_number(self):
        expected = self.model.predict(self.images)
        turned = np.asfortranarray(self.images)
        strided = np.repeat(self.images, 2, axis=2)[:, :, ::2]
        reversed_twice = self.images[::-1].copy()[::-1]
        for same in (turned, strided, reversed_twice, self.images.astype(np.float64), self.images.reshape(-1, 16),
                     self.images.astype(">f4"), self.images.tolist()):
            np.testing.assert_array_equal(self.model.predict(same), expected)
        self.assertEqual(self.model.predict(self.images > 0.5).shape, expected.shape)
        read_only = self.images.copy()
        read_only.flags.writeable = False
        np.testing.assert_array_equal(self.model.predict(read_only), expected)

    def test_predicts_more_than_one_call_takes(self):
        many = np.tile(self.images, (90, 1, 1, 1))
        self.assertGreater(len(many), 2 * 4096)
        np.testing.assert_array_equal(self.model.predict(many)[-96:], self.model.predict(self.images))

    def test_refuses_what_are_no_examples(self):
        self.images[5, 1, 2, 0] = np.nan
        for wrong, error, words in (
                (self.images, ValueError, r"nan at \[5, 1, 2, 0\]"), (np.full((2, 16), 1e39), ValueError, "finite"),
                (np.zeros((2, 15)), ValueError, "takes 16 numbers"), (np.zeros((4, 4, 1)), ValueError, r"array\[None\]"),
                (np.zeros((0, 16)), ValueError, "no examples"), (np.float32(1), ValueError, "no examples"),
                (np.zeros((2, 16), complex), TypeError, "complex128"), (np.array([["a"]]), TypeError, "dtype"),
                (np.zeros((2, 16), object), TypeError, "object"), ([[1.0], [1.0, 2.0]], ValueError, "no array"),
                (np.ma.masked_array(np.zeros((2, 16)), True), TypeError, "masked"), (None, TypeError, "object")):
            with self.assertRaisesRegex(error, words):
                self.model.predict(wrong)

    def test_a_model_in_int8_answers_and_is_not_trained(self):
        int8 = Model.load(support.SAMPLES / "int8.cotf")
        self.assertEqual((int8.computes_in_int8, self.model.computes_in_int8), (True, False))
        answers = int8.predict(self.images)
        np.testing.assert_allclose(answers, self.model.predict(self.images), atol=0.2)
        self.assertTrue((answers != self.model.predict(self.images)).any())
        self.assertEqual(int8.evaluate((self.images, self.labels)).examples, len(self.images))
        with self.assertRaisesRegex(coterie.CoterieError, "computes in int8"):
            int8.train((self.images, self.labels))

    def test_several_inputs_of_several_types(self):
        model = Model.load(support.SAMPLES / "two.cotf")
        tokens, features = np.arange(6).reshape(2, 3), np.ones((2, 4), np.float32)
        self.assertEqual([one.dtype for one in model.inputs], ["int32", "float32"])
        self.assertEqual(model.predict((tokens, features)).shape, (2, 2))
        self.assertEqual(model.evaluate(((tokens, features), np.array([0, 1]))).examples, 2)
        for wrong, error, words in (((tokens.astype(float), features), TypeError, "integers are wanted"),
                                    ((tokens + 2**40, features), ValueError, "no int32"), (tokens, ValueError, "2 inputs"),
                                    ((tokens, features[:1]), ValueError, "2, 1 examples")):
            with self.assertRaisesRegex(error, words):
                model.predict(wrong)
        with self.assertRaisesRegex(TypeError, "astype"):
            model.evaluate(((tokens.astype(float), features), np.array([0, 1])))

    def test_learns_and_stays_as_it_is(self):
        before, epochs, steps = self.model.to_bytes(), [], []
        trained = self.model.train((self.images, self.labels), epochs=20, learning_rate=0.2, seed=3, on_epoch=epochs.append,
                                   on_step=steps.append)
        self.assertEqual(self.model.to_bytes(), before)
        self.assertGreater(trained.evaluate((self.images, self.labels)).accuracy, 0.95)
        measured = trained.measure((self.images, self.labels), ["top-1", "recall"])
        self.assertEqual(measured["top-1"], trained.evaluate((self.images, self.labels)).accuracy)
        self.assertGreater(measured["recall"], 0.9)
        with self.assertRaisesRegex(coterie.InvalidArgument, "there is no f2"):
            trained.measure((self.images, self.labels), ["f2"])
        self.assertEqual([one.epoch for one in epochs], list(range(1, 21)))
        self.assertEqual(len(steps), 60)
        last = steps[-3:]  # of the last epoch: 3 steps of 32 examples
        self.assertAlmostEqual(epochs[-1].loss, sum(one.step_loss for one in last) / 3, places=6)
        self.assertTrue(steps[-1].finished)

    def test_is_tuned_if_that_is_better_on_what_is_held_out(self):
        before = self.model.to_bytes()
        tuning = self.model.fine_tune((self.images, self.labels), held_out_share=0.25, epochs=20, learning_rate=0.2)
        self.assertTrue(tuning.is_better)
        self.assertEqual(tuning.held_out, len(self.images) // 4)
        self.assertGreater(tuning.after.accuracy, tuning.before.accuracy)
        self.assertEqual(self.model.to_bytes(), before)
        worse = tuning.model.fine_tune((self.images, self.labels), held_out_share=0.25, learning_rate=1e-30)
        self.assertIsNone(worse.model)
        with self.assertRaises(coterie.InvalidArgument):
            self.model.fine_tune((self.images, self.labels), held_out_share=0.9)

    def test_learns_from_arrays_and_from_files(self):
        file = Dataset.open(support.SAMPLES / "images.cotf")
        random = np.random.default_rng(0)
        labels = np.arange(60) % 3
        images = random.random((60, 16), np.float32)
        trained = self.model.train((images, labels), epochs=2, seed=1)
        again = self.model.train((images[:], labels.astype(np.uint8).astype(np.int16)), epochs=2, seed=1)
        self.assertEqual(trained.to_bytes(), again.to_bytes())
        self.assertEqual(len(file), 60)
        self.assertGreater(self.model.train(file, epochs=20, learning_rate=0.2).evaluate(file).accuracy, 0.95)
        with self.assertRaises(TypeError):
            file.inputs

    def test_a_regression_takes_numbers(self):
        targets = self.images.reshape(-1, 16)[:, :3]
        trained = self.model.train((self.images, targets), loss="mean_squared_error", epochs=60, learning_rate=0.1)
        self.assertLess(trained.evaluate((self.images, targets), loss="mean_squared_error").loss, 0.1)
        self.assertTrue(Dataset.from_numpy(self.images, targets).targets_are_values)

    def test_options_reach_the_library(self):
        data = (self.images, self.labels)
        frozen = self.model.train(data, freeze=["dense1.*"], epochs=1)
        np.testing.assert_array_equal(frozen["dense1.weight"], self.model["dense1.weight"])
        self.assertFalse(np.array_equal(frozen["dense2.weight"], self.model["dense2.weight"]))
        everything = {"loss": "softmax_cross_entropy", "label_smoothing": 0.1, "class_weights": [1, 2.0, np.float32(3)],
                      "optimizer": "adamw", "learning_rate": 0.01, "weight_decay": 0.1, "beta1": 0.8, "beta2": 0.9,
                      "epsilon": 1e-7, "schedule": "cosine:warmup=2", "batch_size": np.int64(16), "micro_batch_size": 8,
                      "epochs": 2, "steps_max": 5, "clip_norm": 1, "clip_value": 1, "train_only": ("dense*",),
                      "freeze_statistics": True, "seed": 2**64 - 1, "memory_bytes_max": 2**30, "threads": 2,
                      "groups": ["dense1.*:lr=0.5,decay=0"], "storage": "float32", "loss_scale": "dynamic",
                      "memory_budget_bytes": 2**24, "checkpoint_key": bytes(32), "ignore_label": "255"}
        with Trainer(self.model, data, **everything) as trainer:
            self.assertEqual(trainer.run().steps, 5)
            self.assertEqual(trainer.memory.micro_batch_size, 8)
            self.assertEqual(trainer.delta().shape, (self.model.flat_count,))
        self.assertTrue(np.any(self.model.train(data, lora="rank=2:*.weight")["dense1.weight"] != self.model["dense1.weight"]))
        self.assertGreater(self.model.plan_training(96, batch_size=64).arena_bytes, 0)

    def test_labels_may_be_ignored(self):
        labels = self.labels.copy()
        labels[::2] = 255
        half = self.model.evaluate((self.images, labels), ignore_label="255")
        others = self.model.evaluate((self.images[1::2], self.labels[1::2]))
        self.assertAlmostEqual(half.loss, others.loss, places=5)
        self.assertEqual(half.accuracy, others.accuracy)
        with self.assertRaises(coterie.InvalidArgument):
            self.model.evaluate((self.images, labels))

    def test_heads_of_several_outputs(self):
        model = coterie.Model.load(support.SAMPLES / "heads.cotf")
        names = [info.name for info in model.outputs]
        self.assertEqual([info.size for info in model.outputs], [3, 1])
        answers = model.predict_all(self.images)
        np.testing.assert_array_equal(answers[names[0]], model.predict(self.images))
        self.assertEqual(answers[names[1]].shape, (len(self.images), 1))
        data = (self.images, np.stack([self.labels, self.labels / 10], axis=1).astype(np.float32))
        options = {"heads": [f"{names[0]}:softmax_cross_entropy", f"{names[1]}:l1:0.5"]}
        before = model.evaluate_heads(data, **options)
        with Trainer(model, data, epochs=3, **options) as trainer:
            trainer.run()
            self.assertEqual([head.output for head in trainer.heads], names)
            after = trainer.model().evaluate_heads(data, **options)
        self.assertLess(after[0].loss, before[0].loss)
        self.assertEqual((after[1].measure, after[1].weight), ("mae", 0.5))

    def test_options_that_cannot_be_are_refused(self):
        data = (self.images, self.labels)
        for options, error, words in (
                ({"epoch": 3}, TypeError, "did you mean 'epochs'"), ({"epochs": -1}, ValueError, r"in \[0, 4294967295\]"),
                ({"epochs": 2**32}, ValueError, "epochs"), ({"epochs": 1.5}, TypeError, "whole number"),
                ({"epochs": True}, TypeError, "whole number"), ({"learning_rate": "0.1"}, TypeError, "a number"),
                ({"learning_rate": float("nan")}, coterie.InvalidArgument, "learning_rate"), ({"loss": 3}, TypeError, "str"),
                ({"loss": "mse"}, coterie.InvalidArgument, "must be one of"), ({"freeze": "dense*"}, TypeError, "sequence"),
                ({"freeze": ["a\0b"]}, ValueError, "null"), ({"class_weights": [1.0]}, coterie.InvalidArgument, "weights"),
                ({"checkpoint_key": bytes(3)}, coterie.InvalidArgument, "32"), ({"checkpoint_key": "k" * 32}, TypeError, "bytes"),
                ({"memory_budget_bytes": 1}, coterie.CoterieError, "too_large"), ({"seed": 2**64}, ValueError, "seed")):
            with self.assertRaisesRegex(error, words, msg=options):
                self.model.train(data, **options)

    def test_what_a_callback_raises_comes_out(self):
        class Mine(Exception):
            pass

        def fail(_):
            raise Mine("mine")

        for options in ({"on_step": fail}, {"on_epoch": fail}):
            with self.assertRaises(Mine):
                self.model.train((self.images, self.labels), **options)
        self.assertEqual(self.model.train((self.images, self.labels), epochs=1).name, "mlp")

    def test_a_callback_ends_a_training(self):
        with Trainer(self.model, (self.images, self.labels), epochs=5) as trainer:
            self.assertEqual(trainer.run(on_step=lambda progress: progress.steps == 4).steps, 4)
            self.assertEqual(trainer.run(3).steps, 7)
            self.assertEqual(trainer.run(0).steps, 7)
            self.assertTrue(trainer.run().finished)
            with self.assertRaises(coterie.CoterieError) as caught:
                trainer.step()
            self.assertEqual(caught.exception.code, Code.CONFLICT)
            with self.assertRaises(ValueError):
                trainer.run(-1)

    def test_a_watch_says_what_goes_wrong(self):
        data = (self.images, self.labels)
        place = self.folder / "watch.json"
        place.write_text('{"every": 2, "hits_max": 2, "checks": [{"check": "weight_change_too_large", "tensors": "dense1*"}]}')
        with Trainer(self.model, data, epochs=1, learning_rate=1.0) as trainer, Trainer(self.model, data, epochs=1, learning_rate=1.0) as plain:
            with self.assertRaises(coterie.CoterieError) as caught:
                trainer.watched
            self.assertEqual(caught.exception.code, Code.CONFLICT)
            trainer.watch(place)
            trainer.run(3)
            plain.run(3)
            np.testing.assert_array_equal(trainer.delta(), plain.delta())
            found = trainer.watched
            self.assertEqual((found.looks, found.left_out), (2, 0))
            self.assertGreater(found.bytes_max, 0)
            hit = found.hits[0]
            self.assertEqual((hit.check, hit.setting, hit.comparison, hit.threshold), ("weight_change_too_large", "ratio_above", ">", 0.1))
            self.assertEqual((hit.layer, hit.first_step), ("dense1", 0))
            self.assertIn(hit.tensor, ("dense1.weight", "dense1.bias"))
            self.assertGreater(hit.value, hit.threshold)
            trainer.watch("recommended")
            self.assertEqual(trainer.watched.looks, 0)
            trainer.watch(None)
            for asked, error, code, words in (
                    ("recomended", coterie.CoterieError, Code.NOT_FOUND, "did you mean `recommended`"),
                    (self.folder / "bad.json", coterie.InvalidArgument, Code.INVALID_ARGUMENT, "/checks: is required")):
                (self.folder / "bad.json").write_text("{}")
                with self.assertRaisesRegex(error, words) as caught:
                    trainer.watch(asked)
                self.assertEqual(caught.exception.code, code)
            with self.assertRaises(TypeError):
                trainer.watch(3)

    def test_goes_on_where_it_was_interrupted_to_the_same_bits(self):
        options = {"epochs": 3, "seed": 5}
        whole = self.model.train((self.images, self.labels), **options)
        place = self.folder / "checkpoint"

        def interrupt(progress):
            if progress.steps == 4:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.model.train((self.images, self.labels), checkpoint=place, on_step=interrupt, **options)
        steps = []
        resumed = self.model.train((self.images, self.labels), checkpoint=place, resume=True, on_step=steps.append, **options)
        self.assertEqual(steps[0].steps, 5)
        self.assertEqual(resumed.to_bytes(), whole.to_bytes())
        self.assertFalse(place.exists())
        with Trainer(self.model, (self.images, self.labels), **options) as trainer:
            with self.assertRaises(coterie.CoterieError) as caught:
                trainer.restore_checkpoint(self.folder / "none")
            self.assertEqual(caught.exception.code, Code.NOT_FOUND)

    def test_parameters_are_set_and_read(self):
        values = np.full((64, 3), 0.5)
        self.model["dense2.weight"] = values
        np.testing.assert_array_equal(self.model["dense2.weight"], values)
        for name, wrong, error in (("dense2.weight", np.zeros((3, 64)), ValueError), ("none", values, coterie.CoterieError),
                                   ("dense2.weight", values * np.inf, ValueError)):
            with self.assertRaises(error):
                self.model[name] = wrong
        self.model.replace_head("dense2", 5, seed=1)
        self.assertEqual(self.model.output.shape, (5,))
        with self.assertRaises(coterie.InvalidArgument):
            self.model.replace_head("dense9", 5)

    def test_is_saved_loaded_copied_and_pickled(self):
        place = self.folder / "größe und 模型.cotf"
        self.model.save(place)
        expected = self.model.predict(self.images)
        for same in (Model.load(str(place)), Model.from_bytes(bytearray(self.model.to_bytes())),
                     pickle.loads(pickle.dumps(self.model)), copy.deepcopy(self.model)):
            np.testing.assert_array_equal(same.predict(self.images), expected)
        for path, code in ((self.folder / "none.cotf", Code.NOT_FOUND), (self.folder, None)):
            with self.assertRaises(coterie.CoterieError) as caught:
                Model.load(path)
            self.assertIn(str(path), caught.exception.text)
            self.assertIn(caught.exception.code, (code,) if code else Code)
        with self.assertRaises(coterie.CoterieError):
            self.model.save(self.folder / "no" / "such" / "folder.cotf")
        for path, error in (("a\0b", ValueError), (3, TypeError), (None, TypeError), (b"bytes", TypeError)):
            with self.assertRaises(error):
                Model.load(path)
        for content in (b"", b"nothing", self.model.to_bytes()[:-1], self.model.to_bytes()[:100]):
            with self.assertRaises(coterie.CoterieError):
                Model.from_bytes(content)

    def test_closed_is_closed(self):
        with self.model as model:
            trainer = Trainer(model, (self.images, self.labels))
        model.close()
        self.assertIn("closed", repr(model))
        for use in (lambda: model.predict(self.images), lambda: model.name, model.to_bytes, lambda: model["dense1.bias"],
                    lambda: model.train((self.images, self.labels)), lambda: model.save(self.folder / "x"),
                    lambda: model.evaluate((self.images, self.labels))):
            with self.assertRaisesRegex(coterie.ClosedError, "the model is closed"):
                use()
        self.assertEqual(trainer.step().steps, 1)  # which keeps what it needs
        trainer.close()
        trainer.close()
        with self.assertRaisesRegex(coterie.ClosedError, "the trainer is closed"):
            trainer.step()

    def test_errors_are_pickled_as_they_are(self):
        for error in (coterie.InvalidArgument(1, "text"), coterie.CoterieError(Code.NOT_FOUND, "text"),
                      coterie.ClosedError("model"), coterie.AdminError(404, {"code": "not_found", "detail": "no"})):
            same = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(same), same.code, str(same)), (type(error), error.code, str(error)))
        self.assertEqual(Code(999), Code.INTERNAL)

    def test_what_is_dropped_is_given_back(self):
        finalizers = []
        for _ in range(50):
            trainer = Trainer(self.model, (self.images, self.labels))
            finalizers.append((trainer._finalizer, trainer._core))
        del trainer
        gc.collect()
        self.assertFalse(any(finalizer.alive or core.pointer for finalizer, core in finalizers))


if __name__ == "__main__":
    unittest.main(verbosity=2)
