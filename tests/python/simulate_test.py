"""coterie.simulate: jobs over virtual devices, by the program; what it refuses is said before anything runs."""
import os
import struct
import unittest
from unittest import mock

import support  # first

import numpy as np

import coterie
from coterie import Dataset, Model, simulate

ROUNDS = 3
EPOCHS = 2
TRAINING = {"local_epochs": EPOCHS, "batch_size": 8, "learning_rate": 0.3}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


def unmasked(value):
    rotated = (value - 0xA282EAD8) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


def fields(message):
    """A protocol buffer's fields: (number, value), varints as integers, all else as bytes."""
    place = 0

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, message[place:place + size]
        place += size


def scalars_of(path):
    """An event file's scalars, by step and tag; every checksum is checked. Independent of the encoder in C++."""
    content, place, scalars, versions = path.read_bytes(), 0, {}, []
    while place < len(content):
        head, (head_crc,) = content[place:place + 8], struct.unpack_from("<I", content, place + 8)
        size, = struct.unpack("<Q", head)
        event, (crc,) = content[place + 12:place + 12 + size], struct.unpack_from("<I", content, place + 12 + size)
        assert unmasked(head_crc) == crc32c(head) and unmasked(crc) == crc32c(event), place
        place += 16 + size
        members = dict(fields(event))
        assert struct.unpack("<d", members[1])[0] > 1.7e9
        versions += [members[3]] if 3 in members else []
        for _, value in fields(members.get(5, b"")):
            scalar = dict(fields(value))
            scalars.setdefault(members[2], {})[scalar[1].decode()] = struct.unpack("<f", scalar[2])[0]
    assert versions == [b"brain.Event:2"], versions
    return scalars


@unittest.skipUnless(os.environ.get("COTERIE_PROGRAM"), "the program does it")
class Simulate(support.Folder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.model = Model.load(support.SAMPLES / "mlp.cotf")
        self.data, self.others = support.learnable(192, seed=1), support.learnable(90, seed=2)

    def test_learns_and_tells_each_round(self):
        told = []
        before = self.model.to_bytes()
        result = simulate(self.model, self.data, split="dirichlet:0.5", devices=6, rounds=ROUNDS, evaluate_on=self.others,
                          seed=3, on_round=told.append, out=self.folder / "run", log_dir=self.folder / "logs", **TRAINING)
        self.assertEqual(told, result.history)
        self.assertEqual([one.round for one in told], [1, 2, 3])
        self.assertTrue(all(one.accepted == one.selected == 6 and one.examples == EPOCHS * 192 for one in told))
        self.assertGreater(result.accuracy, result.accuracy_before)
        self.assertEqual(told[-1].accuracy, result.accuracy)
        seen = result.model.evaluate(self.others)
        self.assertAlmostEqual(seen.accuracy, result.accuracy, places=6)
        self.assertAlmostEqual(seen.loss, result.loss, places=5)
        self.assertEqual(self.model.to_bytes(), before)
        self.assertEqual(result.out, self.folder / "run")
        self.assertIn("<td", (self.folder / "run/chart.html").read_text())
        events, = (self.folder / "logs").iterdir()
        self.assertTrue(events.name.startswith("events.out.tfevents."))
        scalars = scalars_of(events)
        self.assertEqual(sorted(scalars), [0, 1, 2, 3])
        for one in told:
            self.assertAlmostEqual(scalars[one.round]["evaluation/accuracy"], one.accuracy, places=6)
            self.assertAlmostEqual(scalars[one.round]["evaluation/loss"], one.loss, places=5)
            self.assertEqual(scalars[one.round]["round/bytes"], 6 * result.summary["update_bytes"])

    def test_the_same_seed_gives_the_same_bits_with_any_threads(self):
        def digest(seed, threads):
            return simulate(self.model, self.data, split="dirichlet:0.5", devices=5, fraction=0.6, rounds=2, seed=seed,
                            threads=threads, **TRAINING).digest
        self.assertEqual(len({digest(7, 1), digest(7, 2), digest(7, None)}), 1)
        self.assertNotEqual(digest(7, 1), digest(8, 1))

    def test_a_list_says_who_has_what(self):
        images, labels = self.data
        shares = [(images[i::4].astype(np.float64), labels[i::4]) for i in range(3)] + [Dataset.from_numpy(images[3::4], labels[3::4])]
        result = simulate(self.model, shares, rounds=1, evaluate_on=self.others, **TRAINING)
        self.assertEqual(result.history[0].examples, EPOCHS * 192)
        self.assertEqual(result.summary["devices"], 4)
        held_out = simulate(self.model, shares, rounds=1, security="active", strategy={"kind": "fedadam"}, **TRAINING)
        self.assertLess(held_out.history[0].examples, EPOCHS * 192)
        self.assertEqual(held_out.summary["security"], "active")

    def test_classes_that_nobody_has_stay_classes(self):
        images, labels = self.data
        two = labels != 1
        result = simulate(self.model, [(images[two][::2], labels[two][::2]), (images[two][1::2], labels[two][1::2])], rounds=ROUNDS,
                          evaluate_on=(images[two], labels[two]), **TRAINING)
        self.assertAlmostEqual(result.model.evaluate((images[two], labels[two])).accuracy, result.accuracy, places=6)

    def test_heads_are_trained_together_and_told_apart(self):
        model = Model.load(support.SAMPLES / "heads.cotf")
        names = [info.name for info in model.outputs]
        heads = [f"{names[0]}:softmax_cross_entropy", f"{names[1]}:l1:0.5"]

        def both(examples):
            images, labels = examples
            return images, np.stack([labels, labels / 10], axis=1).astype(np.float32)

        data, others = both(self.data), both(self.others)
        result = simulate(model, data, devices=4, rounds=ROUNDS, evaluate_on=others, heads=heads, **TRAINING)
        self.assertEqual([list(one.heads) for one in result.history], [names] * ROUNDS)
        last, seen = result.history[-1], result.model.evaluate_heads(others, heads=heads)
        self.assertAlmostEqual(last.heads[names[0]]["accuracy"], seen[0].value, places=6)
        self.assertAlmostEqual(last.heads[names[1]]["mae"], seen[1].value, places=5)
        self.assertAlmostEqual(last.loss, last.heads[names[0]]["loss"] + 0.5 * last.heads[names[1]]["loss"], places=5)
        self.assertLess(last.heads[names[0]]["loss"], result.history[0].heads[names[0]]["loss"])
        self.assertEqual([head["output"] for head in result.summary["heads"]], names)
        images, targets = data
        each = simulate(model, [(images[i::3], targets[i::3]) for i in range(3)], rounds=1, evaluate_on=others,
                        training={"heads": [{"output": names[0], "loss": "softmax_cross_entropy"}, {"output": names[1], "loss": "l1"}]},
                        **TRAINING)
        self.assertEqual(each.summary["devices"], 3)
        with self.assertRaisesRegex(coterie.InvalidArgument, "an example of .* has 3"):
            simulate(model, (images, np.hstack([targets, targets[:, 1:]])), devices=4, heads=heads)

    def test_what_a_callback_raises_ends_it_and_nothing_is_left(self):
        def stop(one):
            raise KeyError(one.round)
        with self.assertRaisesRegex(KeyError, "1"):
            simulate(self.model, self.data, rounds=100_000, devices=4, on_round=stop, out=self.folder / "run")
        self.assertFalse((self.folder / "run").exists())

    def test_what_the_program_says_comes_out(self):
        with self.assertRaisesRegex(coterie.InvalidArgument, "/rounds/count"):
            simulate(self.model, self.data, devices=4, rounds=0)
        with self.assertRaisesRegex(coterie.InvalidArgument, "no privacy ledger"):
            simulate(self.model, self.data, devices=4, update={"clip_l2": 1, "weight_max": 1},
                     privacy={"noise_multiplier": 1, "target_delta": 1e-5, "epsilon_budget": 8})
        (self.folder / "full").mkdir()
        (self.folder / "full/file").write_text("x")
        with self.assertRaisesRegex(coterie.InvalidArgument, "not empty"):
            simulate(self.model, self.data, devices=4, out=self.folder / "full")

    def test_refuses_what_cannot_be_before_anything_runs(self):
        images, labels = self.data
        for error, words, call in [
            (TypeError, "no field 'local_epoch'; did you mean 'local_epochs'", lambda: simulate(self.model, self.data, local_epoch=2)),
            (ValueError, "split is 'iid'", lambda: simulate(self.model, self.data, split="group:x")),
            (ValueError, "split is for one data set", lambda: simulate(self.model, [self.data], split="iid")),
            (ValueError, "devices is 3, and datasets has 1", lambda: simulate(self.model, [self.data], devices=3)),
            (ValueError, "has no data set", lambda: simulate(self.model, [])),
            (ValueError, "data set 1 has 1 example; a device has 2", lambda: simulate(self.model, [self.data, (images[:1], labels[:1])])),
            (ValueError, "class 3 is none of the model's 3", lambda: simulate(self.model, (images, labels + 1))),
            (ValueError, "a head is 'OUTPUT:LOSS'", lambda: simulate(self.model, self.data, heads=["l1"])),
            (ValueError, "evaluate_on: an example has targets of shape", lambda: simulate(
                self.model, self.data, evaluate_on=(images, np.stack([labels, labels], axis=1)), heads=["a:l1"])),
            (ValueError, "data set 1: an example has targets of shape", lambda: simulate(
                self.model, [self.data, (images, np.stack([labels, labels], axis=1))], heads=["a:l1"])),
            (TypeError, "targets are whole numbers", lambda: simulate(self.model, (images, labels * 1.0))),
            (ValueError, "evaluate_on: .*16 numbers", lambda: simulate(self.model, self.data, evaluate_on=(images[:, :2], labels))),
            (ValueError, r"fraction is in \(0, 1\], is 0", lambda: simulate(self.model, self.data, fraction=0)),
            (TypeError, "as JSON has them", lambda: simulate(self.model, self.data, update={"clip_l2": images})),
            (FileNotFoundError, "jobs are simulated by the program", lambda: simulate(self.model, self.data, program="/nowhere")),
        ]:
            with mock.patch("subprocess.Popen", side_effect=AssertionError("it ran")), self.assertRaisesRegex(error, words):
                call()

    def test_plots_its_history(self):
        result = simulate(self.model, self.data, devices=4, rounds=2, **TRAINING)
        left, right = mock.Mock(), mock.Mock()
        self.assertEqual(result.plot((left, right)), (left, right))
        numbers, accuracies = left.plot.call_args.args
        self.assertEqual((numbers, accuracies[-1]), ([0, 1, 2], result.accuracy))
        self.assertEqual([call.args[0] for call in right.plot.call_args_list], [[1, 2], [1, 2]])
        with mock.patch.dict("sys.modules", {"matplotlib": None, "matplotlib.pyplot": None}):
            with self.assertRaisesRegex(ImportError, "matplotlib, which is not installed; out=FOLDER"):
                result.plot()
        self.assertIn("2 rounds", repr(result))


class WithoutTheProgram(unittest.TestCase):
    def test_event_files_are_read_by_the_vectors(self):
        self.assertEqual(crc32c(b"123456789"), 0xE3069283)
        self.assertEqual(unmasked(0xC78AB0E5), 0xE3069283)


if __name__ == "__main__":
    unittest.main(verbosity=2)
