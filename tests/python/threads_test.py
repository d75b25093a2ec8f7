"""Threads, ^C, and callbacks that reach where they must not."""
import signal
import threading
import unittest

import support  # first

import numpy as np

from coterie import Dataset, Model, Trainer, _calls


class Threads(unittest.TestCase):
    def setUp(self):
        self.model = Model.load(support.SAMPLES / "mlp.cotf")
        self.images, self.labels = support.learnable()

    def in_threads(self, work, count=8):
        errors = []

        def guarded(number):
            try:
                work(number)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_threads_share_a_model_and_a_data_set(self):
        data = Dataset.from_numpy(self.images, self.labels)
        expected, loss = self.model.predict(self.images), self.model.evaluate(data).loss

        def work(_):
            for _ in range(10):
                np.testing.assert_array_equal(self.model.predict(self.images), expected)
                self.assertEqual(self.model.evaluate(data).loss, loss)

        self.in_threads(work)

    def test_trainings_of_one_model_at_once_have_the_same_result(self):
        results = [b""] * 4

        def work(number):
            results[number] = self.model.train((self.images, self.labels), epochs=3, seed=1).to_bytes()

        self.in_threads(work, 4)
        self.assertEqual(len(set(results)), 1)

    def test_one_trainer_of_many_threads_makes_each_step_once(self):
        with Trainer(self.model, (self.images, self.labels), epochs=40) as trainer:
            self.in_threads(lambda _: [trainer.step() for _ in range(5)])
            self.assertEqual(trainer.progress.steps, 40)

    def test_closing_waits_for_the_call_under_way(self):
        entered, goes_on, closed = threading.Event(), threading.Event(), threading.Event()
        trainer = Trainer(self.model, self.stalling(entered, goes_on))
        step = threading.Thread(target=trainer.step)
        step.start()
        self.assertTrue(entered.wait(support.PATIENCE_S))
        closing = threading.Thread(target=lambda: (trainer.close(), closed.set()))
        closing.start()
        self.assertFalse(closed.is_set())
        goes_on.set()
        step.join()
        closing.join()
        self.assertTrue(trainer.closed)

    def test_other_threads_run_while_the_library_works(self):
        entered, goes_on = threading.Event(), threading.Event()
        thread = threading.Thread(target=self.model.evaluate, args=(self.stalling(entered, goes_on),))
        thread.start()
        self.assertTrue(entered.wait(support.PATIENCE_S))  # this thread runs, and the other one is in the library
        goes_on.set()
        thread.join()

    def test_a_callback_cannot_use_or_close_what_is_calling_it(self):
        for reach in (lambda trainer: trainer.step(), lambda trainer: trainer.close(), lambda trainer: trainer.progress):
            data = self.calling(lambda: reach(trainer))
            trainer = Trainer(self.model, data)
            with self.assertRaisesRegex(RuntimeError, "a callback cannot"):
                trainer.step()
            trainer.close()

    def test_a_callback_may_use_something_else(self):
        other = Model.from_bytes(self.model.to_bytes())
        seen = []
        data = self.calling(lambda: seen.append(other.predict(self.images[:1])))
        self.model.evaluate(data)
        self.assertEqual(len(seen), 96)

    def test_an_error_of_an_inner_call_is_no_error_of_the_outer(self):
        other = Model.from_bytes(self.model.to_bytes())

        def fail_inside():
            with self.assertRaises(ZeroDivisionError):
                other.evaluate(self.calling(lambda: 1 / 0))

        self.assertEqual(self.model.evaluate(self.calling(fail_inside)).examples, 96)
        with self.assertRaises(ZeroDivisionError):
            self.model.evaluate(self.calling(lambda: 1 / 0))

    def test_an_interrupt_between_two_steps_comes_out(self):
        with Trainer(self.model, (self.images, self.labels), epochs=1000) as trainer:
            with self.assertRaises(KeyboardInterrupt):
                trainer.run(on_step=lambda progress: signal.raise_signal(signal.SIGINT) if progress.steps == 3 else None)
            self.assertEqual(trainer.progress.steps, 3)

    def test_an_interrupt_within_a_call_ends_it_and_comes_out(self):
        calls = []

        def interrupt():
            calls.append(1)
            if len(calls) == 5:
                signal.raise_signal(signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            self.model.evaluate(self.calling(interrupt))
        self.assertLess(len(calls), 10, "the call was to end at once")
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_a_handler_of_the_users_own_is_called_behind_the_call(self):
        numbers = []
        before = signal.signal(signal.SIGINT, lambda number, _frame: numbers.append(number))
        self.addCleanup(signal.signal, signal.SIGINT, before)
        once = iter([True])
        data = self.calling(lambda: signal.raise_signal(signal.SIGINT) if next(once, False) else None)
        self.assertEqual(self.model.evaluate(data).examples, 96)
        self.assertEqual(numbers, [signal.SIGINT])

    def calling(self, body):
        """The examples; `body` is called inside of each read."""
        data = Dataset.from_numpy(self.images, self.labels)
        read = data._source.read
        data._source.struct.read_example = type(read)(
            lambda context, index, example: _calls.guarded(body) or read(context, index, example))
        return data

    def stalling(self, entered, goes_on):
        return self.calling(lambda: (entered.set(), goes_on.wait(support.PATIENCE_S)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
